"""The headers that real providers send, as their documentation and their users show them, and what they say."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

# The answers came at this instant; in seconds since 1970 it is 1788955170.
NOW = datetime(2026, 9, 9, 11, 59, 30, tzinfo=UTC)
EPOCH = 1_788_955_170


@dataclass(frozen=True)
class Case:
    """What came, and what it says; times in seconds from now, None: not said."""

    provider: str
    status: int | None
    headers: dict[str, str]
    limited: bool = False
    limit: int | None = None
    remaining: int | None = None
    resets_in: float | None = None
    retry_in: float | None = None
    doubts: int = 0


def instant(seconds: float | None) -> datetime | None:
    """Return the instant so many seconds from now."""
    return None if seconds is None else NOW + timedelta(seconds=seconds)


def same(prefix: str, limit: object, remaining: object, reset: object) -> dict[str, str]:
    """Return the three headers that most providers send."""
    return {f"{prefix}Limit": str(limit), f"{prefix}Remaining": str(remaining), f"{prefix}Reset": str(reset)}


# fmt: off
CASES = [
    # Retry-After: RFC 9110
    Case("seconds", 429, {"Retry-After": "30"}, limited=True, retry_in=30),
    Case("a fraction of seconds", 429, {"retry-after": "0.25"}, limited=True, retry_in=0.25),
    Case("none at all", 429, {"RETRY-AFTER": "0"}, limited=True, retry_in=0),
    Case("negative seconds", 429, {"Retry-After": "-5"}, limited=True, retry_in=0),
    Case("IMF date", 429, {"Retry-After": "Wed, 09 Sep 2026 12:00:00 GMT"}, limited=True, retry_in=30),
    Case("RFC 850 date", 503, {"Retry-After": "Wednesday, 09-Sep-26 12:00:00 GMT"}, limited=True, retry_in=30),
    Case("asctime date", 503, {"Retry-After": "Wed Sep  9 12:00:00 2026"}, limited=True, retry_in=30),
    Case("past date", 429, {"Retry-After": "Wed, 09 Sep 2026 11:59:25 GMT"}, limited=True, retry_in=0),
    Case("date of a clock that is an hour ahead", 429,
         {"Retry-After": "Wed, 09 Sep 2026 13:00:00 GMT", "Date": "Wed, 09 Sep 2026 12:59:30 GMT"},
         limited=True, retry_in=30),
    Case("date of an answer that was on the way for five seconds", 429,
         {"Retry-After": "Wed, 09 Sep 2026 12:00:00 GMT", "Date": "Wed, 09 Sep 2026 11:59:25 GMT"},
         limited=True, retry_in=30),
    Case("date from a cache", 429,
         {"Retry-After": "Wed, 09 Sep 2026 12:00:00 GMT", "Date": "Wed, 09 Sep 2026 11:00:00 GMT", "Age": "3570"},
         limited=True, retry_in=30),
    Case("seconds since 1970", 429, {"Retry-After": str(EPOCH + 60)}, limited=True, retry_in=60),
    Case("prose", 429, {"Retry-After": "soon"}, limited=True, doubts=1),
    Case("nothing", 429, {}, limited=True),
    Case("unavailable for another reason", 503, {}),
    Case("forbidden for another reason", 403, {}),
    Case("a healthy answer may say it too", 200, {"Retry-After": "30"}, retry_in=30),
    Case("RFC 9110 on 301", 301, {"Retry-After": "120"}, retry_in=120),
    # The IETF draft
    Case("draft 10", 200, {"RateLimit": '"default";r=50;t=30', "RateLimit-Policy": '"default";q=100;w=60'},
         limit=100, remaining=50, resets_in=30),
    Case("draft 10, several policies", 200,
         {"RateLimit": '"permin";r=50;t=60, "perhr";r=12;t=1800',
          "RateLimit-Policy": '"permin";q=100;w=60, "perhr";q=1000;w=3600'},
         limit=1000, remaining=12, resets_in=1800),
    Case("draft 10, one of them empty", 429,
         {"RateLimit": '"burst";r=0;t=3, "daily";r=999;t=80000',
          "RateLimit-Policy": '"burst";q=10;w=5, "daily";q=1000;w=86400', "Retry-After": "3"},
         limited=True, limit=10, remaining=0, resets_in=3, retry_in=3),
    Case("draft 10, both of them empty", 429, {"RateLimit": '"burst";r=0;t=3, "daily";r=0;t=80000'},
         limited=True, remaining=0, resets_in=80000),
    Case("draft 10, partition keys and units", 200,
         {"RateLimit": '"peruser";r=40;t=10;pk=:dHJ1c3Q=:',
          "RateLimit-Policy": '"peruser";q=65535;qu="content-bytes";w=10;pk=:dHJ1c3Q=:'},
         limit=65535, remaining=40, resets_in=10),
    Case("draft 10, no reset", 200, {"RateLimit": '"a, b; c";r=7'}, remaining=7),
    Case("draft 10, policy alone", 200, {"RateLimit-Policy": '"hour";q=1000;w=3600, "day";q=5000;w=86400'}, limit=1000),
    Case("draft 7", 200, {"RateLimit": "limit=100, remaining=50, reset=30", "RateLimit-Policy": "100;w=60"},
         limit=100, remaining=50, resets_in=30),
    Case("draft 6", 200, same("RateLimit-", "100", 98, 17) | {"RateLimit-Policy": "100;w=60"},
         limit=100, remaining=98, resets_in=17),
    Case("draft 3", 200, same("RateLimit-", '10, 10;w=1;comment="fixed window", 50;w=60', 9, 1),
         limit=10, remaining=9, resets_in=1),
    Case("broken list", 200, {"RateLimit": '"default";r='}, doubts=1),
    # providers
    Case("Cloudflare", 429,
         {"Ratelimit": '"default";r=0;t=161', "Ratelimit-Policy": '"default";q=1200;w=300', "Retry-After": "161"},
         limited=True, limit=1200, remaining=0, resets_in=161, retry_in=161),
    Case("GitHub", 200,
         same("X-RateLimit-", 5000, 4987, EPOCH + 1800) | {"X-RateLimit-Used": "13", "X-RateLimit-Resource": "core"},
         limit=5000, remaining=4987, resets_in=1800),
    Case("GitHub, primary limit", 403, same("x-ratelimit-", 60, 0, EPOCH + 600), limited=True, limit=60, remaining=0,
         resets_in=600),
    Case("GitHub, secondary limit", 403, {"Retry-After": "60"} | same("x-ratelimit-", 5000, 4300, EPOCH + 600),
         limited=True, limit=5000, remaining=4300, resets_in=600, retry_in=60),
    Case("GitHub, a forbidden repository", 403, same("x-ratelimit-", 5000, 4300, EPOCH + 600), limit=5000,
         remaining=4300, resets_in=600),
    Case("GitLab", 429,
         same("RateLimit-", 600, 0, EPOCH + 27)
         | {"RateLimit-Observed": "601", "RateLimit-Name": "throttle_authenticated_web", "Retry-After": "27",
            "RateLimit-ResetTime": "Wed, 09 Sep 2026 11:59:57 GMT"},
         limited=True, limit=600, remaining=0, resets_in=27, retry_in=27),
    Case("OpenAI", 200,
         {"x-ratelimit-limit-requests": "60", "x-ratelimit-limit-tokens": "150000",
          "x-ratelimit-remaining-requests": "59", "x-ratelimit-remaining-tokens": "14998",
          "x-ratelimit-reset-requests": "1s", "x-ratelimit-reset-tokens": "6m0s"},
         limit=150000, remaining=14998, resets_in=360),
    Case("OpenAI, by usage", 200,
         {"x-ratelimit-limit-tokens_usage_based": "160000", "x-ratelimit-remaining-tokens_usage_based": "159976",
          "x-ratelimit-reset-tokens_usage_based": "9ms"},
         limit=160000, remaining=159976, resets_in=0.009),
    Case("OpenAI, refused", 429,
         {"x-ratelimit-limit-requests": "3", "x-ratelimit-remaining-requests": "0",
          "x-ratelimit-reset-requests": "1h2m3.5s", "retry-after-ms": "1200", "retry-after": "2"},
         limited=True, limit=3, remaining=0, resets_in=3723.5, retry_in=2),
    Case("Azure OpenAI", 200,
         {"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"},
         resets_in=0, doubts=2),
    Case("Azure OpenAI, refused", 429, {"retry-after-ms": "7000", "x-ms-retry-after-ms": "7250"}, limited=True,
         retry_in=7.25),
    Case("Azure Resource Manager", 200,
         {"x-ms-ratelimit-remaining-subscription-reads": "249",
          "x-ms-ratelimit-remaining-subscription-global-reads": "3749"}, remaining=249),
    Case("Azure Compute", 200,
         {"x-ms-ratelimit-remaining-resource":
              "Microsoft.Compute/GetVMScaleSet3Min;197,Microsoft.Compute/GetVMScaleSet30Min;1297"}, remaining=197),
    Case("Anthropic", 429,
         {"anthropic-ratelimit-requests-limit": "1000", "anthropic-ratelimit-requests-remaining": "999",
          "anthropic-ratelimit-requests-reset": "2026-09-09T11:59:31Z",
          "anthropic-ratelimit-input-tokens-limit": "80000", "anthropic-ratelimit-input-tokens-remaining": "0",
          "anthropic-ratelimit-input-tokens-reset": "2026-09-09T12:00:00Z", "retry-after": "31"},
         limited=True, limit=80000, remaining=0, resets_in=30, retry_in=31),
    Case("Anthropic, subscription", 429,
         {"anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": str(EPOCH + 7200),
          "anthropic-ratelimit-unified-5h-utilization": "1.0"}, limited=True, resets_in=7200),
    Case("X", 429, same("x-rate-limit-", 900, 0, EPOCH + 900), limited=True, limit=900, remaining=0, resets_in=900),
    Case("X, by day", 429,
         same("x-rate-limit-", 900, 800, EPOCH + 900) | same("x-app-limit-24hour-", 17, 0, EPOCH + 80000),
         limited=True, limit=17, remaining=0, resets_in=80000),
    Case("Slack", 429, {"Retry-After": "30", "Date": "Wed, 09 Sep 2026 11:59:29 GMT"}, limited=True, retry_in=30),
    Case("Reddit", 200, {"x-ratelimit-used": "5", "x-ratelimit-remaining": "595.0", "x-ratelimit-reset": "298"},
         remaining=595, resets_in=298),
    Case("Shopify", 200, {"X-Shopify-Shop-Api-Call-Limit": "32/40"}, limit=40, remaining=8),
    Case("Shopify, refused", 429, {"X-Shopify-Shop-Api-Call-Limit": "40/40", "Retry-After": "2.0"}, limited=True,
         limit=40, remaining=0, retry_in=2),
    Case("Salesforce", 200, {"Sforce-Limit-Info": "api-usage=25/5000; per-app-api-usage=17/250(appName=sample)"},
         limit=250, remaining=233),
    Case("Stripe", 429, {"Retry-After": "1", "Stripe-Rate-Limited-Reason": "global-rate"}, limited=True, retry_in=1),
    Case("HubSpot", 200,
         {"X-HubSpot-RateLimit-Daily": "250000", "X-HubSpot-RateLimit-Daily-Remaining": "249926",
          "X-HubSpot-RateLimit-Interval-Milliseconds": "10000", "X-HubSpot-RateLimit-Max": "100",
          "X-HubSpot-RateLimit-Remaining": "57", "X-HubSpot-RateLimit-Secondly": "10",
          "X-HubSpot-RateLimit-Secondly-Remaining": "9"}, limit=100, remaining=57),
    Case("HighLevel", 200,
         {"X-RateLimit-Limit-Daily": "200000", "X-RateLimit-Daily-Remaining": "100", "X-RateLimit-Max": "100",
          "X-RateLimit-Remaining": "98", "X-RateLimit-Interval-Milliseconds": "10000"}, limit=200000, remaining=100),
    Case("Discord", 429,
         same("X-RateLimit-", 5, 0, f"{EPOCH}.470")
         | {"X-RateLimit-Reset-After": "64.57", "X-RateLimit-Bucket": "abcd1234", "X-RateLimit-Global": "true",
            "X-RateLimit-Scope": "user", "Retry-After": "65"},
         limited=True, limit=5, remaining=0, resets_in=64.57, retry_in=65),
    Case("the later of two resets", 429,
         {"X-RateLimit-Reset-After": "64.57", "X-RateLimit-Reset": str(EPOCH + 64), "X-RateLimit-Reset-At": "soon"},
         limited=True, resets_in=64.57, doubts=1),
    Case("Zendesk", 200,
         {"x-rate-limit": "700", "ratelimit-limit": "700", "x-rate-limit-remaining": "699",
          "ratelimit-remaining": "699", "ratelimit-reset": "41",
          "zendesk-ratelimit-tickets-index": "total=100; remaining=99; resets=41"},
         limit=100, remaining=99, resets_in=41),
    Case("Okta", 429, same("X-Rate-Limit-", 600, 0, EPOCH + 45), limited=True, limit=600, remaining=0, resets_in=45),
    Case("Docker Hub", 200,
         {"ratelimit-limit": "100;w=21600", "ratelimit-remaining": "96;w=21600",
          "docker-ratelimit-source": "192.0.2.1"},
         limit=100, remaining=96),
    Case("Jira", 429,
         {"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2026-09-09T12:01Z",
          "X-RateLimit-NearLimit": "true", "RateLimit-Reason": "jira-burst-based", "Retry-After": "90"},
         limited=True, limit=100, remaining=0, resets_in=90, retry_in=90),
    Case("Confluence", 200,
         {"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "49", "X-RateLimit-Interval-Seconds": "60",
          "X-RateLimit-FillRate": "10", "retry-after": "0"}, limit=50, remaining=49, retry_in=0),
    Case("OpenRouter", 429, same("X-RateLimit-", 50, 0, (EPOCH + 43200) * 1000), limited=True, limit=50, remaining=0,
         resets_in=43200),
    Case("microseconds since 1970", 200, {"X-RateLimit-Reset": str((EPOCH + 60) * 10**6)}, resets_in=60),
    Case("Kong", 200,
         {"X-RateLimit-Limit-Minute": "5", "X-RateLimit-Remaining-Minute": "4", "X-RateLimit-Limit-Hour": "100",
          "X-RateLimit-Remaining-Hour": "12"} | same("RateLimit-", 5, 4, 48), limit=100, remaining=12),
    Case("lemlist", 200,
         same("X-RateLimit-", 20, 7, "Wed Sep 09 2026 13:59:32 GMT+0200 (Central European Summer Time)")
         | {"Retry-After": "2"}, limit=20, remaining=7, resets_in=2, retry_in=2),
    Case("MailerLite", 429,
         same("X-RateLimit-", 60, 0, "2026-09-09 12:00:00") | {"X-RateLimit-Retry-After": "30"},
         limited=True, limit=60, remaining=0, resets_in=30, retry_in=30),
    Case("WHOOP", 200, same("X-RateLimit-", "100, 100;window=60, 10000;window=86400", 98, 3), limit=100, remaining=98,
         resets_in=3),
    Case("Akamai", 429, {"X-RateLimit-Limit": "10", "X-RateLimit-Remaining": "0",
                         "X-RateLimit-Next": "2026-09-09T12:00:30.000Z"},
         limited=True, limit=10, remaining=0, retry_in=60),
    Case("Spring Cloud Gateway", 200,
         {"X-RateLimit-Remaining": "9", "X-RateLimit-Burst-Capacity": "20", "X-RateLimit-Replenish-Rate": "10",
          "X-RateLimit-Requested-Tokens": "1"}, remaining=9),
    Case("bucket4j", 429, {"X-Rate-Limit-Retry-After-Seconds": "59"}, limited=True, retry_in=59),
    Case("milliseconds by name", 200, {"X-RateLimit-Reset-Ms": "600000"}, resets_in=600),
    Case("DigitalOcean", 200, same("ratelimit-", 5000, 4816, EPOCH + 3000), limit=5000, remaining=4816, resets_in=3000),
    Case("Smartsheet", 429, same("X-RateLimit-", 120, 0, EPOCH + 9), limited=True, limit=120, remaining=0, resets_in=9),
    Case("Heroku", 200, {"RateLimit-Remaining": "2400"}, remaining=2400),
    # what makes no sense
    Case("a reset in the past", 429, same("X-RateLimit-", 60, 0, EPOCH - 5), limited=True, limit=60, remaining=0,
         resets_in=0),
    Case("a reset long past", 429, {"X-RateLimit-Reset": "1000000000"}, limited=True, doubts=1),
    Case("a reset in ten years", 200, {"X-RateLimit-Reset": str(EPOCH + 10 * 365 * 86400)}, doubts=1),
    Case("a wait of months", 429, {"Retry-After": "9999999"}, limited=True, doubts=1),
    Case("a wait of no number's size", 429, {"X-RateLimit-Retry-After": "11529485261"}, limited=True, doubts=1),
    Case("no numbers", 200, same("X-RateLimit-", "inf", "many", "NaN"), doubts=3),
    Case("more left than there is", 200, same("X-RateLimit-", 60, 61, 30), resets_in=30, doubts=1),
    Case("a debt", 200, {"X-RateLimit-Remaining": "-3"}, doubts=1),
    Case("an amount beyond counting", 200, {"X-RateLimit-Limit": "9223372036854775808"}, doubts=1),
    Case("a name for an amount", 200, {"X-Rate-Limit-Limit": "name=rate-limit-1,1000"}, doubts=1),
    Case("empty values", 200, same("X-RateLimit-", "", "", ""), doubts=3),
    Case("other digits", 429, {"Retry-After": "٣٠"}, limited=True, doubts=1),
    Case("nothing about limits", 200, {"Content-Type": "text/html", "X-Request-Id": "1"}),
    Case("no answer", None, {}),
]
# fmt: on
