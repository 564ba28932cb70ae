"""Accounts, their parameters and the tiers come and change. Every way to write one leads through here: form, API,
try-out. Cards are written by fleet.lifecycle, settings by system_settings.
"""

from scheduler.polling.defining.accounts import (
    ACCESS_FIELDS,
    ACCOUNT_FIELDS,
    check_account,
    create_account,
    delete_account,
    save_account,
    save_new_account,
)
from scheduler.polling.defining.parameters import PARAMS_FIELDS, back_to_defaults, check_params, save_params
from scheduler.polling.defining.tiers import TIER_FIELDS, check_tier, delete_tier, save_new_tier, save_tier

__all__ = [
    "ACCESS_FIELDS",
    "ACCOUNT_FIELDS",
    "PARAMS_FIELDS",
    "TIER_FIELDS",
    "back_to_defaults",
    "check_account",
    "check_params",
    "check_tier",
    "create_account",
    "delete_account",
    "delete_tier",
    "save_account",
    "save_new_account",
    "save_new_tier",
    "save_params",
    "save_tier",
]
