"""Secrets in what tools print and people tell: behind escapes, between the colours of a terminal, within longer
words, and those that only the words before them give away."""

import json

import pytest

from etude.redaction import Redactor
from rows import rows

# Put together at run time, so that no scanner takes this file for a leak.
BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
TRANSCRIPTS = Redactor.for_transcripts()
SURE = [
    ("sk-ant-" + "api03-" + BODY, "api-key"),
    ("sk-proj-" + BODY, "api-key"),
    ("gsk_" + BODY, "api-key"),
    ("hf_" + BODY, "api-key"),
    ("xai-" + BODY, "api-key"),
    ("sk_live_" + BODY, "api-key"),
    ("AIza" + (BODY * 2)[:35], "api-key"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "aws-key"),
    ("ghp_" + BODY, "token"),
    ("github_pat_" + BODY, "token"),
    ("glpat-" + BODY[:20], "token"),
    ("xoxb-" + "123456789012-abcdefABCDEF", "token"),
    ("npm_" + BODY, "token"),
    ("dop_v1_" + BODY, "token"),
    (JWT, "jwt"),
]
OTHERS = [
    ("sk-" + BODY, "api-key"),
    ("pypi-AgEI" + BODY, "token"),
    ("hvs." + BODY, "token"),
    ("SG." + BODY[:22] + "." + BODY, "token"),
]
COMMANDS = [
    ("curl -u me:{}", "password"),
    ("mysql -u me -p{}", "password"),
    ("docker login -p {}", "password"),
    ("sshpass -p {}", "password"),
    ("Cookie: session={}", "cookie"),
]


@rows("before", ["\\n", "\\t", "\\\\n", "\\x1b[32m", "\\033[01;31m\\033[K", "run-", "x_"])
@rows(("secret", "kind"), SURE + OTHERS)
def test_an_escape_or_a_part_of_a_word_before_a_secret_does_not_hide_it(before, secret, kind):
    assert TRANSCRIPTS.redact(f"{before}{secret} is it") == f"{before}[redacted:{kind}] is it"


@rows(("secret", "kind"), SURE)
def test_what_only_a_secret_begins_with_is_found_within_a_word(secret, kind):
    assert TRANSCRIPTS.redact(f"abc{secret}") == f"abc[redacted:{kind}]"


@rows("before", ["\\n", "\\t", "\\x1b[0m"])
@rows(("command", "kind"), COMMANDS)
def test_an_escape_before_a_command_does_not_hide_its_password(before, command, kind):
    text, counts = TRANSCRIPTS.redact_counted(before + command.format("S3cretPass99"))
    assert "S3cretPass99" not in text
    assert counts == {kind: 1}


@rows("escape", ["\x1b", "\\u001b", "\\\\u001b"])
def test_colours_within_a_secret_do_not_hide_it(escape):
    red, plain = f"{escape}[01;31m{escape}[K", f"{escape}[m{escape}[K"
    assert TRANSCRIPTS.redact(f"a: {red}ghp_{plain}{BODY}") == "a: [redacted:token]"
    assert TRANSCRIPTS.redact(f"{red}password{plain}={BODY}") == "password=[redacted:password]"


def test_colours_around_the_value_of_a_field_do_not_hide_it():
    assert TRANSCRIPTS.redact_value({"password": "\x1b[32mhunter2x\x1b[0m"}) == {"password": "[redacted:password]"}


@rows(("secret", "kind"), SURE + OTHERS)
def test_a_secret_in_json_in_json_is_found_where_the_outer_text_was_cut(secret, kind):
    text = json.dumps({"content": json.dumps({"line": f"first\n{secret}\nlast"})})[:-4]
    assert TRANSCRIPTS.redact(text) == text.replace(secret, f"[redacted:{kind}]")


@rows(
    "text",
    [
        "task-0001-of-the-validation-split, disk-image-2024-01-01-backup, desk-1234567890123456789012",
        "C:\\new\\tasks-and-risks-of-2024-01-01-and-2025-02-02",
        "print('\\033[32mdone\\033[0m')",
    ],
)
def test_words_that_end_like_the_beginning_of_a_key_survive(text):
    assert TRANSCRIPTS.redact(text) == text


def test_other_texts_keep_what_only_looks_like_a_secret_in_a_word():
    text = f"abc{SURE[0][0]} run-{SURE[8][0]} \x1b[32mcolour"
    assert Redactor().redact(text) == text


@rows(
    ("text", "kind"),
    [
        ("123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw", "token"),
        ("https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/getMe", "token"),
        ("client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpN", "private-key"),
        ("machine api.example login me password S3cretPass99", "password"),
        ("Authorization: Bearer abcdefghijklmnop", "authorization"),
        ('{"Authorization": "Basic abcdefghijklmnop"}', "authorization"),
        ("the pwd is S3cretPass99.", "password"),
        ("mot de passe : S3cretPass99", "password"),
        ("contraseña: S3cretPass99", "password"),
        ("Das Passwort ist Sommer2026!", "password"),
        ("密码是 S3cretPass99", "password"),
        ("密码：S3cretPass99", "password"),
        ("use token abc123def456", "token"),
        ("my token is ghx8s7d6f5g4h3", "token"),
        ("AZURE_OPENAI_API_KEY 0123456789abcdef0123456789abcdef", "api-key"),
    ],
)
def test_transcripts_lose_what_only_the_words_before_it_give_away(text, kind):
    clean, counts = TRANSCRIPTS.redact_counted(text)
    assert counts == {kind: 1}
    assert TRANSCRIPTS.redact_counted(clean) == (clean, {})


@rows(
    "text",
    [
        "The password is required. The pwd is wrong. Das Passwort ist falsch. Mot de passe : obligatoire",
        "the token is base64-encoded, a token is sha256-hashed, token internationalization, token get_token2(x)",
        "the api key internationalization of keys, primary key 12, the API key is in the vault",
        "Authorization: Basic authentication is used, or Bearer <token>",
        "login screen password field, login with password",
        "contraseña: ${PASSWORD_1}, 密码是什么",
        'PWD=/home/ana/project2, OLDPWD=/srv/app1, declare -x PWD="/home/user1/x"',
        "password=row.col1, password=args2.password, password: req.body.password1",
    ],
)
def test_prose_about_secrets_survives_in_transcripts(text):
    assert TRANSCRIPTS.redact(text) == text


@rows(
    ("text", "secret"),
    [
        ("Password： {}", "S3cretPass99"),
        ("password: {}", "Tr0ub4dor&3x"),
        ("password = {}", "a1b2c3|d4e5"),
        ("password:\n  {}", "S3cretPass99"),
        ("Das Password ist {}", "Tr0ub4dor&3x"),
        ("le password est {}", "a1b2c3|d4e5"),
        ("pwd is {}", "S3cretPass99"),
    ],
)
def test_passwords_are_known_by_what_is_said_of_them(text, secret):
    assert TRANSCRIPTS.redact(text.format(secret)) == text.format("[redacted:password]")


@pytest.mark.parametrize("text", ["Authorization: Bearer abcdefghijklmnop", "my token is ghx8s7d6f5g4h3"])
def test_what_may_be_prose_stays_in_other_texts(text):
    assert Redactor().redact(text) == text


@pytest.mark.parametrize("key", ["AGE-SECRET-KEY-1" + "QLZ" * 16, "age-secret-key-1" + "q2z" * 16])
def test_a_secret_key_of_age_is_taken_out_with_and_without_digits(key):
    assert TRANSCRIPTS.redact(f"key {key} x") == "key [redacted:token] x"
    assert Redactor().redact(key) == key


@rows("head", ["AGE-SECRET-KEY-1QL", "GOCSPX-a1", "ATATT3xFf", "npm_a1", "PMAK-a1"])
def test_the_beginning_of_a_token_at_a_cut_is_taken_out_with_the_end_behind_it(head):
    cut = "[... 40 characters left out ...]"
    clean = f"key [redacted:cut-secret]{cut}[redacted:cut-secret] x"
    assert TRANSCRIPTS.redact(f"key {head}{cut}aBc1 x") == clean
