"""The eight ports of the Chat Diagnosis graph (contract, section 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from diagnosis.runtime import Action, DefinitionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Actions:
    """One action for each node: ``async (state, config) -> update``.

    Attributes:
        planner: writes the plan.
        executor: runs tools and claims facts with citations.
        gatekeeper: checks that every citation is real.
        verified_input: builds the whitelisted input.
        verifier: judges the facts.
        composer: writes the answer.
        evidence_retry: says which gaps to close.
        fallback: answers safely.

    Raises:
        DefinitionError: a port is missing or null, or holds no function; the text names all of them.
    """

    planner: Action = None  # type: ignore[assignment]
    executor: Action = None  # type: ignore[assignment]
    gatekeeper: Action = None  # type: ignore[assignment]
    verified_input: Action = None  # type: ignore[assignment]
    verifier: Action = None  # type: ignore[assignment]
    composer: Action = None  # type: ignore[assignment]
    evidence_retry: Action = None  # type: ignore[assignment]
    fallback: Action = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        wrong = [f"{port.name} is {getattr(self, port.name)!r}" for port in fields(self) if not self._fits(port.name)]
        if wrong:
            raise DefinitionError(
                f"all eight actions are required, each an async function (state, config) -> update; {', '.join(wrong)}"
            )

    def _fits(self, name: str) -> bool:
        return callable(getattr(self, name))

    def by_node(self) -> Mapping[str, Action]:
        """Give node -> action."""
        return {port.name: getattr(self, port.name) for port in fields(self)}
