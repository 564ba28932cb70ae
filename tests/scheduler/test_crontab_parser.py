"""A crontab is read as cron reads it; what cannot become a schedule says why, and stops nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.importing.crontab import Entry, Rejected, parse


def lines(text: str | bytes, *, with_user: bool = False) -> list[Entry | Rejected]:
    return list(parse(text if isinstance(text, bytes) else text.encode(), with_user=with_user))


def only(text: str | bytes, *, with_user: bool = False) -> Entry | Rejected:
    (line,) = lines(text, with_user=with_user)
    return line


# --- entries -----------------------------------------------------------------------------------------------------


def test_a_line_of_a_users_crontab_is_five_times_and_a_command() -> None:
    entry = only("30 2 * * 1-5 /usr/local/bin/backup --full\n")
    assert (entry.line, entry.expression, entry.user) == (1, "30 2 * * 1-5", None)
    assert entry.command == "/usr/local/bin/backup --full"


def test_a_line_of_a_system_crontab_has_a_user_before_the_command() -> None:
    entry = only("17 *\t* * *\troot\tcd / && run-parts --report /etc/cron.hourly\n", with_user=True)
    assert (entry.expression, entry.user) == ("17 * * * *", "root")
    assert entry.command == "cd / && run-parts --report /etc/cron.hourly"


@pytest.mark.parametrize("word", ["@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually", "@midnight"])
def test_a_word_stands_for_five_times(word: str) -> None:
    assert only(f"{word} root /bin/true", with_user=True).expression == word


def test_names_steps_and_last_days_are_times() -> None:
    assert only("*/15 8-18/2 L jan mon#1 /bin/true").expression == "*/15 8-18/2 L jan mon#1"


def test_blank_lines_comments_and_blanks_before_a_line_do_not_matter() -> None:
    entry = only("\n   \n\t# a comment\n\n  \t0 5 * * * /bin/true\n")
    assert (entry.line, entry.command) == (5, "/bin/true")


def test_lines_may_end_as_on_windows_and_the_last_may_not_end_at_all() -> None:
    assert [entry.command for entry in lines("0 5 * * * /bin/one\r\n0 6 * * * /bin/two")] == ["/bin/one", "/bin/two"]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert only(b"\xef\xbb\xbf0 5 * * * /bin/true\n").command == "/bin/true"


def test_a_hash_behind_a_command_belongs_to_the_command() -> None:
    assert only("0 5 * * * /bin/true # not a comment").command == "/bin/true # not a comment"


def test_a_minus_before_the_times_is_dropped_with_a_note() -> None:
    entry = only("-*/5 * * * * /bin/true")
    assert entry.expression == "*/5 * * * *"
    assert "system log" in entry.notes[0]


# --- % and the command's input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "command", "stdin"),
    [
        ("date", "date", None),
        (r"date +\%Y-\%m", "date +%Y-%m", None),
        ("mail -s hi me%Dear me,%all is well.", "mail -s hi me", "Dear me,\nall is well.\n"),
        ("cat%", "cat", ""),
        ("cat%one%", "cat", "one\n"),
        (r"cat%100\% sure", "cat", "100% sure\n"),
        (r"echo \n%in\n", r"echo \n", "in\\n\n"),
        (r"echo \\%input", "echo \\\\", "input\n"),
        (r"echo \\\%text", r"echo \\%text", None),
        ("echo \\", "echo \\", None),
    ],
)
def test_a_bare_percent_ends_the_command_and_an_escaped_one_is_a_percent(
    written: str, command: str, stdin: str | None
) -> None:
    entry = only(f"0 5 * * * {written}")
    assert (entry.command, entry.stdin) == (command, stdin)


# --- the environment ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name", "value"),
    [
        ("A=b", "A", "b"),
        ("  A  =  b c  ", "A", "b c"),
        ('A=" b c "', "A", " b c "),
        ("A=' b '", "A", " b "),
        ('"A"="b"', "A", "b"),
        ("'A B' = c", "A B", "c"),
        ("A=", "A", ""),
        ('A=""', "A", ""),
        ("A=b # c", "A", "b # c"),
        ("PATH=$HOME/bin:/bin", "PATH", "$HOME/bin:/bin"),
        ("URL=http://x/?a=b", "URL", "http://x/?a=b"),
        ('A=b"c"', "A", 'b"c"'),
        ("A=b\r", "A", "b"),
    ],
)
def test_an_assignment_keeps_what_cron_keeps(written: str, name: str, value: str) -> None:
    assert only(f"{written}\n0 5 * * * /bin/true").environment == {name: value}


def test_an_assignment_counts_for_the_lines_below_it() -> None:
    first, second, third = lines("0 1 * * * a\nX=1\n0 2 * * * b\nX=2\nY=3\n0 3 * * * c\n")
    assert (first.environment, second.environment, third.environment) == ({}, {"X": "1"}, {"X": "2", "Y": "3"})


def test_an_equals_sign_in_a_command_makes_no_assignment() -> None:
    assert only("0 5 * * * A=b /bin/true").command == "A=b /bin/true"
    assert only("@daily A=b /bin/true").command == "A=b /bin/true"


@pytest.mark.parametrize("written", ['A="b', "A='b", 'A="b" c', "A='b\""])
def test_an_assignment_with_uneven_quotes_is_reported(written: str) -> None:
    rejected, entry = lines(f"{written}\n0 5 * * * /bin/true")
    assert (rejected.line, rejected.text, rejected.understood) == (1, written, False)
    assert "check its quotes" in rejected.reason
    assert entry.environment == {}


def test_the_settings_of_cron_itself_are_not_the_commands_environment() -> None:
    entry = only("MAILTO=ops@example.com\nCRON_TZ=Europe/Berlin\nLOGNAME=me\nRANDOM_DELAY=5\n0 5 * * * /bin/true")
    assert entry.environment == {}
    assert entry.zone == "Europe/Berlin"
    assert "Nothing is mailed to ops@example.com" in entry.notes[0]
    assert "RANDOM_DELAY=5 is not taken over" in entry.notes[1]


def test_an_empty_mailto_needs_no_note() -> None:
    assert only('MAILTO=""\n0 5 * * * /bin/true').notes == ()


def test_cron_tz_counts_from_its_line_on_and_can_be_taken_back() -> None:
    zones = [entry.zone for entry in lines("0 1 * * * a\nCRON_TZ=Asia/Tokyo\n0 1 * * * b\nCRON_TZ=\n0 1 * * * c")]
    assert zones == [None, "Asia/Tokyo", None]


def test_tz_is_the_clock_of_the_command_and_not_of_the_schedule() -> None:
    entry = only("TZ=Asia/Tokyo\n0 1 * * * a")
    assert entry.zone is None
    assert entry.environment == {"TZ": "Asia/Tokyo"}
    assert "CRON_TZ would set the schedule's" in entry.notes[0]


# --- names -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comment", "title"),
    [
        ("# Backup of the database", "Backup of the database"),
        ("#Backup:", "Backup"),
        ("## ---- Backup ----", "Backup"),
        ("#Ansible: rotate the logs", "rotate the logs"),
        ("# Puppet Name: rotate", "rotate"),
        ("# 数据备份", "数据备份"),
        ("#", ""),
        ("# -----------", ""),
        (f"# {'long ' * 20}", ""),
        ("# 0 4 * * * /bin/old", ""),
        ("#*/5 * * * * /bin/old", ""),
        ("#@daily /bin/old", ""),
        ("# m h  dom mon dow   command", ""),
        ("# a heading\n# and its second line", ""),
        ("# far away\n", ""),
        ("# of an assignment\nA=b", ""),
    ],
)
def test_a_short_comment_right_above_a_line_is_its_name(comment: str, title: str) -> None:
    assert only(f"{comment}\n0 5 * * * /bin/true").title == title


def test_a_comment_names_one_line_only() -> None:
    assert [entry.title for entry in lines("# Backup\n0 5 * * * a\n0 6 * * * b")] == ["Backup", ""]


# --- what is not imported ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "reason", "understood"),
    [
        ("@reboot root /bin/true", "leave this line in cron", True),
        ("0~30 5 * * * root /bin/true", "write one fixed time", True),
        ("0 5 * * * root", "ends after the user “root”", False),
        ("0 5 * * *", "ends before its command", False),
        ("0 5 * * * ", "ends before its command", False),
        ("0 5 * * * root ", "ends after the user “root”", False),
        ("0 5", "ends before its command", False),
        ("@daily", "ends before its command", False),
        ("61 5 * * * root /bin/true", "minute field “61” is not between 0 and 59", False),
        ("0 5 31 4 * root /bin/true", "never comes", False),
        ("@often root /bin/true", "“@often” is not known", False),
        (
            "0 5 * * * /bin/true --now",
            "“/bin/true” is not a user name: if this is a user's own crontab, say --user",
            False,
        ),
        ("0 5 * * * root %input", "no command before its %", False),
        ("nonsense", "ends before its command", False),
    ],
)
def test_a_line_that_becomes_no_schedule_says_why_and_the_others_still_work(
    written: str, reason: str, understood: bool
) -> None:
    before, rejected, after = lines(f"0 1 * * * root a\n{written}\n0 2 * * * root b", with_user=True)
    assert isinstance(rejected, Rejected)
    assert (rejected.line, rejected.text, rejected.understood) == (2, written.strip(), understood)
    assert reason in rejected.reason
    assert (before.command, after.command) == ("a", "b")


def test_an_unknown_zone_is_reported_at_each_line_that_it_would_move() -> None:
    rejected = lines("CRON_TZ=Asia/Tokio\n0 1 * * * a\n0 2 * * * b")
    assert [(line.line, "Asia/Tokyo" in line.reason) for line in rejected] == [(2, True), (3, True)]


def test_text_that_is_not_utf8_is_reported_unless_it_is_a_comment() -> None:
    rejected, entry = lines(b"# caf\xe9\n0 1 * * * caf\xe9\n0 2 * * * b")
    assert (rejected.line, rejected.understood) == (2, False)
    assert "not UTF-8" in rejected.reason
    assert entry.command == "b"


def test_a_nul_character_is_reported() -> None:
    assert "NUL" in only("0 1 * * * a\0b").reason


def test_a_system_crontab_read_as_a_users_is_noticed() -> None:
    assert "say --system" in only("0 5 * * * root /bin/true").notes[0]


@given(st.binary(max_size=300), st.booleans())
def test_any_bytes_are_read_to_their_end(content: bytes, with_user: bool) -> None:
    for line in parse(content, with_user=with_user):
        assert isinstance(line, Entry) or line.reason.endswith(".")


@given(st.lists(st.text("0123456789*/,-@%=\\\"' #arot", max_size=30), max_size=8), st.booleans())
def test_every_line_that_runs_something_is_accounted_for(texts: list[str], with_user: bool) -> None:
    found = {line.line for line in lines("\n".join(texts), with_user=with_user)}
    for number, text in enumerate(texts, start=1):
        if not text.strip() or text.lstrip().startswith("#"):
            assert number not in found
        elif "=" not in text:
            assert number in found
