"""Any JSON API, by configuration alone."""

from quotas.ratelimit import Window
from scheduler.polling.carriers.base import GatewayKind
from scheduler.polling.carriers.http_json.credentials import HttpJsonCredentials, lacking
from scheduler.polling.carriers.http_json.gateway import HttpJson
from scheduler.polling.carriers.http_json.settings import HttpJsonSettings

__all__ = ["HTTP_JSON", "HttpJson", "HttpJsonCredentials", "HttpJsonSettings"]

HTTP_JSON = GatewayKind(
    name="http_json",
    label="JSON over HTTP",
    settings=HttpJsonSettings,
    credentials=HttpJsonCredentials,
    make=HttpJson,
    windows=(Window(5, 1),),  # of what carriers publish, the least
    lacking=lacking,
)
