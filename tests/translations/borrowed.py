"""Texts that nothing marks: of Django that have no Chinese, and docstrings that pages show."""

DJANGO = (
    "Add link",  # of its admin
    "After you’ve created a user, you’ll be able to edit more user options.",
    "Change or view list link",
    "Model name",
)
# What gateways take is described by the docstrings of scheduler.polling.carriers.
GATEWAYS = (
    "A cloud project at Tuya.",
    "A key of the account.",
    "A key to the gateway of the API, from the console.",
    "A token that is fetched with the credentials, kept, and fetched anew when it ends or is refused.",
    "A user of Control Center, who may use the API.",
    "A workspace at emnify.",
    "An account at 1NCE.",
    "An account at CTWing's CMP.",
    "An account at China Unicom.",
    "An account at Control Center.",
    "An account at OneLink.",
    "An account at Telnyx.",
    "An application of the account.",
    "An application of the workspace.",
    "For carriers that are asked with a name and a secret.",
    "How a JSON API is asked about cards.",
    "How a card is asked about one thing.",
    "How long is waited for what, in seconds.",
    "How the carrier says what went wrong.",
    "Nobody asks who we are.",
    "The authorization key of a cloud project.",
    "The key in a header.",
    "The key in the query.",
    "The key, as `Authorization: Bearer …`.",
    "User and password with each call.",
    "What is sent for a token. {user}, {password} and {key} of the credentials are replaced everywhere.",
    "What is sent for many cards. {iccids}, {iccid19s}, {msisdns} and {imsis} are replaced "
    "everywhere: in a body by a\nlist, where they are a text by themselves, else by the numbers with "
    "the separator between them.",
    "What is sent for one card. {iccid}, {iccid19} (its first 19 digits), {msisdn} and {imsi} are "
    "replaced\neverywhere, {carrier_id}, which is looked up, and {month}, the present one, such as "
    "202611.",
    "What is sent to learn the number under which only the carrier knows a card, {carrier_id}. It is kept.",
    "What the carrier's codes and statuses mean, where it is not what carriers.judging takes them for.",
    "What the kind of authorization in the settings needs of it; the rest stays empty.",
    "Where in a list of cards each of them stands.",
    "Where in an answer what stands, and what the carrier's words mean. All that is found is written to the card.",
)
