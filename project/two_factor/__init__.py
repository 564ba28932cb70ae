"""The second factor of a login: a code of the person's own device (TOTP), asked for after the password where
TIDELINE_TWO_FACTOR says so. Devices, codes and their limits of wrong tries are django-otp's.

`guard` lets nobody in by a password alone, `devices` keeps what people prove themselves with, `views` is the page.
"""
