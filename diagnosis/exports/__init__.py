"""A graph for other tools: another checker's language, test vectors, and what was proven of it."""

from diagnosis.exports.certificate import (
    CertificateError,
    certificate,
    certificate_differences,
    certificate_text,
    read_certificate,
)
from diagnosis.exports.endings import ENDINGS, Ending, Options, ending_of, export
from diagnosis.exports.fingerprint import fingerprint
from diagnosis.exports.promela import promela
from diagnosis.exports.trees import ExportError
from diagnosis.exports.vectors import vectors

__all__ = [
    "ENDINGS",
    "CertificateError",
    "Ending",
    "ExportError",
    "Options",
    "certificate",
    "certificate_differences",
    "certificate_text",
    "ending_of",
    "export",
    "fingerprint",
    "promela",
    "read_certificate",
    "vectors",
]
