"""The parts of which the control panel's pages are made; they know no app.

Badges and relative times, object actions (a confirmation page, a POST, a permission, an entry in the audit log),
the optimistic lock of forms, read-only history with lists that never count, and filters that answer questions.
"""

from project.kit.admin.actions import Asked, Done, ObjectAction, ReasonForm, RequiredReasonForm, Text
from project.kit.admin.badges import badge
from project.kit.admin.bulk_actions import BulkActionsMixin
from project.kit.admin.cells import pretty_json, row_link, short
from project.kit.admin.editing import EditedApartMixin
from project.kit.admin.fields import TextsField
from project.kit.admin.filters import DayFilter, NamedRowFilter, Question, QuestionFilter
from project.kit.admin.history import HistoryAdmin
from project.kit.admin.instants import DASH, absolute, relative, when
from project.kit.admin.locking import VersionLockedForm, VersionLockMixin
from project.kit.admin.object_actions import ObjectActionsMixin
from project.kit.admin.pages import ObjectPageMixin, PanelAdmin, UncountedList, seen_at
from project.kit.spans import span

__all__ = [
    "DASH",
    "Asked",
    "BulkActionsMixin",
    "DayFilter",
    "Done",
    "EditedApartMixin",
    "HistoryAdmin",
    "NamedRowFilter",
    "ObjectAction",
    "ObjectActionsMixin",
    "ObjectPageMixin",
    "PanelAdmin",
    "Question",
    "QuestionFilter",
    "ReasonForm",
    "RequiredReasonForm",
    "Text",
    "TextsField",
    "UncountedList",
    "VersionLockMixin",
    "VersionLockedForm",
    "absolute",
    "badge",
    "pretty_json",
    "relative",
    "row_link",
    "seen_at",
    "short",
    "span",
    "when",
]
