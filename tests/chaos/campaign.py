"""By which variables a campaign is told how long it is, from which seed, and where its figures go."""

SECONDS = "TIDELINE_CHAOS_SECONDS"
SEED = "TIDELINE_CHAOS_SEED"
REPORT = "TIDELINE_CHAOS_REPORT"
