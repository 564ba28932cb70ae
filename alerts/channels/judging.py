"""What an HTTP answer means: by the rules of whoever answered."""

from alerts.channels.base import Answer, Format, Verdict
from alerts.channels.hosts import platform_of
from alerts.channels.registry import HTTP_FORMATS


def judge(chosen: Format, address: str, answer: Answer) -> Verdict:
    """Return what the answer from the address means.

    The host decides by whose rules it is read: a generic channel to a Feishu group is answered by Feishu, with 200 also
    for what it refused. Where the host is nobody's that is known, such as a company's own Feishu or a proxy in front
    of one, the chosen format's rules hold.
    """
    platform = platform_of(address)
    rules = HTTP_FORMATS[platform.format] if platform else chosen
    return rules.judge(answer)
