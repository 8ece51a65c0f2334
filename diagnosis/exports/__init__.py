"""A graph for other tools: another checker's language, test vectors, and what was proven of it."""

from diagnosis.exports.promela import promela
from diagnosis.exports.trees import ExportError

__all__ = ["ExportError", "promela"]
