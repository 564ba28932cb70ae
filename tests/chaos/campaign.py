"""How long a campaign is, from which seed, and where its figures go."""

import os

SECONDS_VARIABLE = "TIDELINE_CHAOS_SECONDS"
SEED_VARIABLE = "TIDELINE_CHAOS_SEED"
REPORT_VARIABLE = "TIDELINE_CHAOS_REPORT"

# Enough for each kind of harm once, or nearly so.
SECONDS = float(os.environ.get(SECONDS_VARIABLE, "75"))
SEED = int(os.environ.get(SEED_VARIABLE, "1"))
REPORT_FILE = os.environ.get(REPORT_VARIABLE, "")
# Until all that was begun has come to its end, once nobody does harm any more.
HEALING_SECONDS = 180.0
