"""Real carriers, as far as their dialects are known: spoken by the simulated carrier, and by scripted answers."""

from tests.scheduler.polling.carriers.dialects.ctwing import CTWING
from tests.scheduler.polling.carriers.dialects.emnify import EMNIFY
from tests.scheduler.polling.carriers.dialects.jasper import JASPER
from tests.scheduler.polling.carriers.dialects.one_nce import ONE_NCE
from tests.scheduler.polling.carriers.dialects.onelink import ONELINK
from tests.scheduler.polling.carriers.dialects.telnyx import TELNYX
from tests.scheduler.polling.carriers.dialects.tuya import TUYA
from tests.scheduler.polling.carriers.dialects.unicom import UNICOM

SPEECHES = {speech.kind: speech for speech in (JASPER, ONE_NCE, EMNIFY, TELNYX, ONELINK, CTWING, UNICOM, TUYA)}
