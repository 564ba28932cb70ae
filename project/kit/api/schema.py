"""How the API describes itself (OpenAPI 3.1): what a resource says of itself, and what holds for all of them."""

from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.utils import OpenApiParameter

from project.kit.api.forms import schema_of
from project.kit.api.idempotency import HEADER, LONGEST_KEY
from project.kit.api.problems import CONTENT_TYPE, ProblemSerializer

KEY = OpenApiParameter(
    HEADER,
    {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY},
    OpenApiParameter.HEADER,
    description="A text of your own. However often the request is sent with it, it is done once.",
)
VERSION = OpenApiParameter(
    "If-Match", str, OpenApiParameter.HEADER, required=True, description="The ETag of the row that is changed."
)
ANYTHING_OR_NULL = [{}, {"type": "null"}]
CHANGES = frozenset({"partial_update", "update"})


class ResourceSchema(AutoSchema):
    """Describes the operations of a resource."""

    view: Any  # a resource

    @property
    def _method(self) -> Any:
        return getattr(self.view, self.view.action or "", None)

    def get_operation_id(self) -> str:
        """Return an action's own name; what it is otherwise called after the verbs of HTTP."""
        usual: str = super().get_operation_id()
        return usual.removesuffix("_create") if getattr(self._method, "detail", False) else usual

    def get_summary(self) -> str | None:
        """Return an action by the name of its button."""
        offers = getattr(self._method, "offers", None)
        return str(offers.label) if offers else None

    def get_description(self) -> str:  # type: ignore[override]  # as drf-spectacular has it
        """Return what it does, and what it needs."""
        needed = " and ".join(f"`{alternatives[0]}`" for alternatives in self.view.needed_permissions())
        told = "" if hasattr(self._method, "offers") else super().get_description()
        return f"{told}\n\nNeeds {needed}.".strip()

    def get_override_parameters(self) -> list[Any]:
        """Return the headers."""
        if self.view.action in CHANGES:
            return [VERSION]
        return [KEY] if getattr(self._method, "takes_keys", False) else []

    def get_request_serializer(self) -> Any:
        """Return what the body is; an action's is its form."""
        offers = getattr(self._method, "offers", None)
        return {"application/json": schema_of(offers.form)} if offers else super().get_request_serializer()

    def get_response_serializers(self) -> Any:
        """Return what the answer is; an action that opens another row answers with that one, one that ends it with
        nothing.
        """
        if getattr(self._method, "ends", False):
            return {204: None}
        return {201: self.view.opens} if self.view.opens else super().get_response_serializers()

    def _map_serializer_field(self, field: Any, direction: Any, bypass_extensions: bool = False) -> dict[str, Any]:
        described: dict[str, Any] = super()._map_serializer_field(field, direction, bypass_extensions)  # type: ignore[no-untyped-call]
        if described.get("oneOf") == ANYTHING_OR_NULL:  # null is anything already, so it would be two of them
            del described["oneOf"]
        return described

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        bodies: dict[str, Any] = super()._get_response_bodies(direction)
        problem = self._get_response_for_code(ProblemSerializer, "default", [CONTENT_TYPE], direction)  # type: ignore[no-untyped-call]
        return {**bodies, "default": problem | {"description": "Why it was refused."}}
