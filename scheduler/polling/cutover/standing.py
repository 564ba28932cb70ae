"""Who decides which card is asked next, as the rows say at this moment: never as somebody remembers it."""

from dataclasses import dataclass

from django.db import connection

from scheduler.polling.states import CutoverPhase
from scheduler.polling.system_settings import MODE_KEY, Mode

# In one statement, so that both are of the same moment.
_STANDING = (
    "SELECT said.mode, open.wanted, open.phase FROM"
    " (SELECT (SELECT value #>> '{}' FROM polling_systemsetting WHERE key = %s) AS mode) AS said"
    " LEFT JOIN polling_cutover AS open ON open.ended_at IS NULL"
)
# From here on the wanted side is written and built; before, it may still be worked on from an earlier time.
_BUILDING = (CutoverPhase.REBUILDING, CutoverPhase.PROVING)


@dataclass(frozen=True, slots=True)
class Standing:
    """Who decides.

    Attributes:
        mode: whose way holds, until a cut-over that is under way is done.
        wanted, phase: of the cut-over that is under way; None: none is.
    """

    mode: Mode
    wanted: Mode | None = None
    phase: CutoverPhase | None = None

    @property
    def claims(self) -> Mode | None:
        """Whose cards may be claimed; None: nobody's, for a cut-over is under way."""
        return self.mode if self.wanted is None else None

    @property
    def written(self) -> tuple[Mode, ...]:
        """Whose structure a writer writes: until the wanted one is complete both, that first."""
        if self.wanted is None:
            return (self.mode,)
        return (self.wanted,) if self.phase == CutoverPhase.PROVING else (self.wanted, other(self.wanted))

    def may_be_built(self, mode: Mode) -> bool:
        """Tell whether the structure of a way may be built and opened for claims."""
        return self.mode is mode if self.wanted is None else self.wanted is mode and self.phase in _BUILDING


def now_holds() -> Standing:
    """Ask the rows who decides."""
    with connection.cursor() as cursor:
        cursor.execute(_STANDING, [MODE_KEY])
        mode, wanted, phase = cursor.fetchone()
    return Standing(
        Mode(mode or Mode.CARRIER), Mode(wanted) if wanted else None, CutoverPhase(phase) if phase else None
    )


def other(mode: Mode) -> Mode:
    """Return the other of the two ways."""
    return Mode.LEGACY if mode is Mode.CARRIER else Mode.CARRIER
