"""Settings from the environment. Nothing insecure is a default: the try-out's comforts are written by `bin/up`
into `.tideline/env`, which is read here for what the environment does not say.
"""

import os
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from project.environment import choice, days, flag, load_tryout, number, postgresql, redis, words

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = Path(os.environ.get("TIDELINE_STATE_DIR", BASE_DIR / ".tideline"))
load_tryout(STATE_DIR / "env")

# --- who may come in -------------------------------------------------------------------------------------------

SECRET_KEY = os.environ.get("SECRET_KEY", "")
SECRET_KEY_FALLBACKS = words("SECRET_KEY_FALLBACKS")  # former keys, which still read while sessions run out
DEBUG = flag("DJANGO_DEBUG", False)
ALLOWED_HOSTS = words("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = words("CSRF_TRUSTED_ORIGINS")

PLAIN_HTTP = flag("TIDELINE_PLAIN_HTTP", False)  # only the try-out on loopback sets it
SECURE_SSL_REDIRECT = not PLAIN_HTTP
SECURE_HSTS_SECONDS = 0 if PLAIN_HTTP else number("SECURE_HSTS_SECONDS", 31_536_000)
SECURE_HSTS_INCLUDE_SUBDOMAINS = not PLAIN_HTTP
SECURE_HSTS_PRELOAD = not PLAIN_HTTP
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if flag("TIDELINE_BEHIND_PROXY", False) else None
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]  # probes speak plain HTTP to the process
if os.environ.get("TIDELINE_METRICS_TOKEN"):
    SECURE_REDIRECT_EXEMPT.append(r"^metrics$")  # and so does a collector beside it, which that token alone lets in
SESSION_COOKIE_AGE = 12 * 3600  # a working day, and a night on duty
SESSION_COOKIE_SECURE = not PLAIN_HTTP
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SECURE = not PLAIN_HTTP
CSRF_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
# Whatever gets into a page executes nothing, loads nothing from elsewhere and sends nothing there.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": ["'none'"],
    }
}

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",  # the first, so that whoever guesses is asked for no password
    "django.contrib.auth.backends.ModelBackend",
]
# Five wrong passwords for one name from one address, and that name is refused from there for a quarter of an hour.
# The name alone would let anybody lock anybody out; the address alone, a whole office.
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False  # patience helps, whatever was tried meanwhile
AXES_CLIENT_IP_CALLABLE = "project.logins.address_of"
AXES_LOCKOUT_CALLABLE = "project.logins.refused"
AXES_DISABLE_ACCESS_LOG = True  # the log tells of logins; rows of them would be kept for ever
AXES_ENABLE_ADMIN = False
AXES_SENSITIVE_PARAMETERS = ["username"]  # somebody may have typed the password there
AXES_VERBOSE = False
TIDELINE_TWO_FACTOR = flag("TIDELINE_TWO_FACTOR", False)  # a password alone opens nothing; see project/two_factor
OTP_TOTP_ISSUER = "Tideline"  # as whom the devices list it

# --- what is in the house --------------------------------------------------------------------------------------

INSTALLED_APPS = [
    "project.apps.ProjectConfig",
    "project.apps.TidelineAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "axes",
    "csp",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "drf_spectacular_sidecar",  # the page that shows the API, served from here and not from elsewhere
    "django_celery_beat",
    "alerts.apps.AlertsConfig",
    "quotas.apps.QuotasConfig",
    "scheduler.apps.SchedulerConfig",
    "scheduler.polling.apps.PollingConfig",
    *words("TIDELINE_APPS"),
]

MIDDLEWARE = [
    "project.request_ids.RequestIds",  # the first, so that whatever is said of a request names it
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "project.kit.languages.ViewerLanguage",
    "project.kit.zones.ViewerZone",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "project.two_factor.guard.SecondFactor",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "project.urls"
WSGI_APPLICATION = "project.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,  # the templates and static files of `project` are found as those of the first app
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# --- the rows --------------------------------------------------------------------------------------------------

DATABASES = {
    "default": postgresql(
        "DATABASE_URL",
        "postgresql:///tideline",
        # Workers keep their connection over tasks and check it before use, so that a restart of PostgreSQL
        # fails no task; see project/celery.py for the other half.
        conn_max_age=600,
        conn_health_checks=True,
        disable_server_side_cursors=True,  # PgBouncer in transaction mode
    )
}
DATABASES["default"].setdefault("OPTIONS", {})
# A host that is gone says nothing. Left to the kernel, who waits for it would do so for a quarter of an hour, or for
# two hours if it had the question already. What the URL says wins.
DATABASES["default"]["OPTIONS"] = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,  # ms
    **DATABASES["default"]["OPTIONS"],
    # PgBouncer in transaction mode lends another session for each transaction, which has not what psycopg prepared.
    "prepare_threshold": None,
}

# --- the hints -------------------------------------------------------------------------------------------------

REDIS_URL = redis("REDIS_URL", "redis://127.0.0.1:6379/0")  # its three forms: project/kit/redis_urls.py
CELERY_DB_REUSE_MAX = 10_000  # tasks over which one connection is kept; 0 would open one for each task

# --- time, language, files -------------------------------------------------------------------------------------

USE_TZ = True
TIME_ZONE = os.environ.get("TIDELINE_TIME_ZONE", "UTC")  # how the admin shows instants; columns are UTC
LANGUAGE_CODE = "en"  # of what is recorded, logged and sent; pages are in their viewer's
TIDELINE_LANGUAGE = os.environ.get("TIDELINE_LANGUAGE", "en")  # of pages whose viewer asks for none that is there
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [BASE_DIR / "project" / "locale"]
LANGUAGE_COOKIE_AGE = 365 * 86_400  # the browser remembers what was chosen in the user menu
LANGUAGE_COOKIE_SECURE = not PLAIN_HTTP
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"

STATIC_URL = "static/"
STATIC_ROOT = None if PLAIN_HTTP else BASE_DIR / "staticfiles"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if PLAIN_HTTP
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
WHITENOISE_USE_FINDERS = PLAIN_HTTP  # the try-out serves from the source tree, without collectstatic

# --- mail ------------------------------------------------------------------------------------------------------

EMAIL_HOST = os.environ.get("EMAIL_HOST", "localhost")
EMAIL_USE_TLS = flag("EMAIL_USE_TLS", False)  # asked for after the greeting
EMAIL_USE_SSL = flag("EMAIL_USE_SSL", False)  # from the beginning
EMAIL_PORT = number("EMAIL_PORT", 465 if EMAIL_USE_SSL else 587 if EMAIL_USE_TLS else 25)
EMAIL_HOST_USER = os.environ.get("EMAIL_HOST_USER", "")
EMAIL_HOST_PASSWORD = os.environ.get("EMAIL_HOST_PASSWORD", "")
DEFAULT_FROM_EMAIL = os.environ.get("DEFAULT_FROM_EMAIL", "tideline@localhost")

# --- the API ---------------------------------------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "project.kit.api.authentication.BearerAuthentication",  # the first one says what a 401 asks for
        "project.kit.api.authentication.PanelSession",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["project.kit.api.permissions.ByPermission"],
    "DEFAULT_THROTTLE_CLASSES": ["project.kit.api.throttling.PerCaller"],
    "DEFAULT_THROTTLE_RATES": {"caller": os.environ.get("TIDELINE_API_RATE", "600/min")},
    "DEFAULT_PARSER_CLASSES": ["project.kit.api.parsing.JsonBody"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "project.kit.api.pagination.Pages",
    "DEFAULT_FILTER_BACKENDS": ["project.kit.api.filtering.Filters", "project.kit.api.filtering.Ordering"],
    "DEFAULT_SCHEMA_CLASS": "project.kit.api.schema.ResourceSchema",
    "DEFAULT_METADATA_CLASS": None,
    "EXCEPTION_HANDLER": "project.kit.api.problems.problem_response",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tideline",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_NAME_OVERRIDES": {
        "AlertState": "alerts.states.AlertState",
        "AttemptOutcome": "scheduler.states.AttemptOutcome",
        "CardState": "scheduler.polling.states.CardState",
        "CheckType": "scheduler.polling.states.CheckType",
        "ConfirmationState": "scheduler.polling.states.ConfirmationState",
        "DeliveryOutcome": "alerts.states.DeliveryOutcome",
        "DeliveryState": "alerts.states.DeliveryState",
        "ErrorClass": "scheduler.polling.states.ErrorClass",
        "EventTrigger": "scheduler.states.EventTrigger",
        "FireKind": "scheduler.states.FireKind",
        "FireOutcome": "scheduler.states.FireOutcome",
        "LedgerEntryKind": "quotas.states.EntryKind",
        "OperationKind": "scheduler.polling.states.OperationKind",
        "OperationState": "scheduler.polling.states.OperationState",
        "QuotaKind": "quotas.states.Kind",
        "RealName": "scheduler.polling.states.RealName",
        "ReservationState": "quotas.states.ReservationState",
        "RunState": "scheduler.states.RunState",
        "Severity": "alerts.states.Severity",
        "Telling": "alerts.states.Telling",
        "TriggerKind": "scheduler.models.Schedule.TriggerKind",
    },
}

# --- what Tideline may do --------------------------------------------------------------------------------------

TIDELINE_JOBS = words("TIDELINE_JOBS")  # modules with @job functions, beside each app's jobs.py
TIDELINE_ALLOW_COMMANDS = flag("TIDELINE_ALLOW_COMMANDS", False)
TIDELINE_LEASE_SECONDS = number("TIDELINE_LEASE_SECONDS", 30)
TIDELINE_POLLING_LEASE_SECONDS = number("TIDELINE_POLLING_LEASE_SECONDS", 60)  # of a claimed card
TIDELINE_POLLING_RENEW_SECONDS = number("TIDELINE_POLLING_RENEW_SECONDS", 15)
TIDELINE_POLLER_CARDS = number("TIDELINE_POLLER_CARDS", 1000)  # that one poller holds at once
# Queues beside polling.card that accounts name for pollers of their own.
TIDELINE_POLLING_QUEUES = words("TIDELINE_POLLING_QUEUES")
TIDELINE_QUEUE_LIMIT = number("TIDELINE_QUEUE_LIMIT", 1000)  # hints that may wait in the broker
TIDELINE_RESUME_DEADLINE_SECONDS = number("TIDELINE_RESUME_DEADLINE_SECONDS", 300)  # until a worker begins it
TIDELINE_QUOTA_EVENTS = flag("TIDELINE_QUOTA_EVENTS", True)  # off: the fallback poll alone resumes
# For how many days history is kept after its end; 0 or empty: for ever. What is open, or still needed, stays.
TIDELINE_KEEP_DAYS = {
    "runs": days("TIDELINE_KEEP_RUNS", 90),  # with their attempts, events and approvals; fires and backfills too
    "reservations": days("TIDELINE_KEEP_RESERVATIONS", 90),
    "provider_reports": days("TIDELINE_KEEP_PROVIDER_REPORTS", 30),
    "quota_edges": days("TIDELINE_KEEP_QUOTA_EDGES", 90),
    "alerts": days("TIDELINE_KEEP_ALERTS", 180),  # with all that was told of them
    "notices": days("TIDELINE_KEEP_NOTICES", 30),
    "card_changes": days("TIDELINE_KEEP_CARD_CHANGES", 365),
    "check_requests": days("TIDELINE_KEEP_CHECK_REQUESTS", 90),
    "card_operations": days("TIDELINE_KEEP_CARD_OPERATIONS", 365),
    "cutovers": days("TIDELINE_KEEP_CUTOVERS", 365),
    "api_requests": days("TIDELINE_KEEP_API_REQUESTS", 30),  # so long an idempotency key is good
    "api_tokens": days("TIDELINE_KEEP_API_TOKENS", 90),
}
# Encrypt secrets at rest; the first one writes, all read. None: derived from SECRET_KEY and its fallbacks.
TIDELINE_SECRETS_KEYS = words("TIDELINE_SECRETS_KEYS")
# Hosts that alerts may be sent to, and carriers asked at, though they lie in a private network: name or name:port.
TIDELINE_ALLOWED_HOSTS_INWARD = words("TIDELINE_ALLOWED_HOSTS_INWARD")
TIDELINE_URL = os.environ.get("TIDELINE_URL", "")  # where people open the control panel; links in alerts lead there
# The inbox page of the try-out, where there is one; see project/inbox.py.
TIDELINE_INBOX_URL = os.environ.get("TIDELINE_INBOX_URL", "")
TIDELINE_INBOX_SECRET = os.environ.get("TIDELINE_INBOX_SECRET", "")
# The simulated carrier of the try-out, where there is one; see project/tryout_fleet.py.
TIDELINE_CARRIER_URL = os.environ.get("TIDELINE_CARRIER_URL", "")
for url in filter(None, (TIDELINE_INBOX_URL, TIDELINE_CARRIER_URL)):
    TIDELINE_ALLOWED_HOSTS_INWARD.append(urlsplit(url).netloc)
# With which Prometheus may read /metrics, beside tokens of the API. Empty: only with those, or logged in.
TIDELINE_METRICS_TOKEN = os.environ.get("TIDELINE_METRICS_TOKEN", "")
# Where errors and traces go, if anywhere; see project/observing. Their further settings are the libraries' own.
SENTRY_DSN = os.environ.get("SENTRY_DSN", "")
OTEL_EXPORTER_OTLP_ENDPOINT = os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
TIDELINE_FLOWER_URL = os.environ.get("TIDELINE_FLOWER_URL", "")

TIDELINE_LOG_FORMAT = choice("TIDELINE_LOG_FORMAT", "text", ("text", "json"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "project.logs.formatter", "form": TIDELINE_LOG_FORMAT}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("TIDELINE_LOG_LEVEL", "INFO")},
    "loggers": {
        "axes": {"level": "WARNING"},  # of each login it tells four things, of which three are its own business
        "httpx": {"level": "WARNING"},
        "kombu": {"level": "WARNING"},
        "flower": {"level": "ERROR"},  # at its start it asks workers that are not there yet
    },
}
