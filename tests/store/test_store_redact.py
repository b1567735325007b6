import base64
import json
import random
import uuid

import pytest

from skillgrad.store import Redactor

# Put together at run time, so that no scanner takes this file for a leak.
BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HEX = "0123456789abcdef" * 4
PEM_LINES = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" + BODY[:12]] * 3)


@pytest.mark.parametrize(
    ("secret", "kind"),
    [
        ("sk-" + BODY, "api-key"),
        ("sk-proj-" + BODY + "_x-" + BODY, "api-key"),
        ("sk-ant-" + "api03-" + BODY + "-AA", "api-key"),
        ("sk-or-v1-" + HEX, "api-key"),
        ("sk-my-gateway-" + "1234567890", "api-key"),
        ("gsk_" + BODY, "api-key"),
        ("hf_" + BODY, "api-key"),
        ("xai-" + BODY, "api-key"),
        ("sk_live_" + BODY, "api-key"),
        ("AIza" + (BODY * 2)[:35], "api-key"),
        ("AKIA" + "IOSFODNN7EXAMPLE", "aws-key"),
        ("ASIA" + "IOSFODNN7EXAMPLE", "aws-key"),
        ("ghp_" + BODY, "token"),
        ("ghs_" + BODY, "token"),
        ("github_pat_" + BODY + "_" + BODY, "token"),
        ("glpat-" + BODY[:20], "token"),
        ("xoxb-" + "123456789012-abcdefABCDEF", "token"),
        ("eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P", "jwt"),
        (f"-----BEGIN RSA PRIVATE KEY-----\n{PEM_LINES}\n-----END RSA PRIVATE KEY-----", "private-key"),
        (f"-----BEGIN PRIVATE KEY-----\n{PEM_LINES}", "private-key"),
        ("-----BEGIN EC PRIVATE KEY-----\\n" + PEM_LINES.replace("\n", "\\n"), "private-key"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "the key {} is mine", '{{"key": "{}"}}', "key={}", "'{}',", "\n{}\n"])
def test_credentials_are_replaced_and_the_text_around_them_stays(secret, kind, around):
    assert Redactor().redact(around.format(secret)) == around.format(f"[redacted:{kind}]")


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Authorization: Bearer " + BODY, "Authorization: Bearer [redacted:authorization]"),
        ("authorization: Basic dXNlcjpwYXNz", "authorization: Basic [redacted:authorization]"),
        ("AUTHORIZATION: token " + BODY, "AUTHORIZATION: token [redacted:authorization]"),
        ("Authorization: " + HEX, "Authorization: [redacted:authorization]"),
        ('{"Authorization": "Bearer abc123def456"}', '{"Authorization": "Bearer [redacted:authorization]"}'),
        (
            r"{\"Authorization\": \"Bearer abc123def456\"}",
            r"{\"Authorization\": \"Bearer [redacted:authorization]\"}",
        ),
        (f"-H 'x-api-key: {BODY}'", "-H 'x-api-key: [redacted:authorization]'"),
        (f"sent Bearer {BODY}== along", "sent Bearer [redacted:authorization] along"),
        ("https://me:hunter2@example.org/x", "https://[redacted:password]@example.org/x"),
        ("postgres://:s3cr%40t@db:5432/a", "postgres://[redacted:password]@db:5432/a"),
        ("git+ssh://a:b@h and http://c:d@i", "git+ssh://[redacted:password]@h and http://[redacted:password]@i"),
    ],
)
def test_headers_and_urls_lose_their_credentials_only(text, clean):
    assert Redactor().redact(text) == clean


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Ask for the sk-learn-compatible-estimators of risk-averse-and-task-specific-approaches.",
        "task-0001-of-the-validation-split, disk-image-2024-01-01-backup, sk-1",
        "The bearer internationalization standard; Bearer authentication; a bearer of responsibilities2",
        "Authorization: Administrators decide. Authorization: Basic authentication is used, or Bearer <token>.",
        "Authorization: Bearer $OPENAI_API_KEY, Bearer YOUR_API_KEY_GOES_HERE",
        "authorization = build_header(credentials)",
        "x-api-key: your-key-here",
        "http://127.0.0.1:8000/v1 https://example.org:443/a@b?c=d:e@f ssh://git@github.com/a/b mailto:a@b.c",
        "ratio 3:4 @ noon, user:password@host without a scheme",
        "-----BEGIN PRIVATE KEY----- starts such a block, and -----BEGIN CERTIFICATE----- another one",
        "AKIA is a prefix, ASIA a continent, AIza and eyJ and xox and hf_ and gsk_ too",
        "api_key_env: OPENAI_API_KEY, max_tokens: 5000, password: see the vault",
        "[redacted:api-key]",
        HEX,
        "sha256:" + HEX,
        "0b9f3a1c attempt a3f09b77e21d4c58",
    ],
)
def test_ordinary_text_survives(text):
    assert Redactor({"HOME": "/home/user", "PATH": "ordinary text"}).redact(text) == text


def test_uuids_hashes_and_pictures_survive():
    rng = random.Random(7)
    for _ in range(200):
        text = str(uuid.UUID(int=rng.getrandbits(128)))
        assert Redactor().redact(text) == text
    picture = "data:image/png;base64," + base64.b64encode(rng.randbytes(300_000)).decode()
    assert Redactor().redact(picture) == picture


def test_values_of_secret_variables_are_known_and_named():
    quoted = 'pass\\"é"-2024'
    redactor = Redactor(
        {
            "OPENAI_API_KEY": "open-sesame-1",
            "db_password": " hunter22hunt ",
            "MY_TOKEN": "open-sesame-1-and-more",
            "A_SECRET": quoted,
            "KEYBOARD": "a-long-value-1",
        }
    )
    assert redactor.redact("open-sesame-1") == "[redacted:OPENAI_API_KEY]"
    assert redactor.redact("xopen-sesame-1-and-more") == "x[redacted:MY_TOKEN]"
    assert redactor.redact("hunter22hunt a-long-value-1") == "[redacted:db_password] a-long-value-1"
    for text in (quoted, json.dumps(quoted)[1:-1], json.dumps(quoted, ensure_ascii=False)[1:-1]):
        assert redactor.redact(f"<{text}>") == "<[redacted:A_SECRET]>"


@pytest.mark.parametrize(
    "value",
    ["", "postgres", "a1b2c3d4e5f", "administrator", "internationalisation", "123456789012", "the year 2024 it was"],
)
@pytest.mark.parametrize("name", ["POSTGRES_PASSWORD", "API_KEY"])
def test_values_that_do_not_look_like_a_key_are_left_alone(name, value):
    redactor = Redactor({name: value})
    for known in (redactor, redactor.exact):
        assert known.redact(f"the word {value} in a text") == f"the word {value} in a text"
        assert known.redact_json(json.dumps([value])) == json.dumps([value])


SETTINGS = "target:\n  model: openai:gpt-5\n  temperature: 0.0\nrun:\n  name: first\n"


@pytest.mark.parametrize("key", ["e", "x", "EMPTY", "openai:", " target ", "model:"])
def test_a_key_that_is_too_short_to_be_one_is_left_alone_and_settings_stay_what_they_are(key):
    redactor = Redactor({"OPENAI_API_KEY": key}, keys=["OPENAI_API_KEY"])
    assert redactor.redact(SETTINGS) == SETTINGS
    assert redactor.redact_json(json.dumps([key])) == json.dumps([key])


def test_a_named_key_is_taken_out_whatever_it_looks_like_from_eight_characters_on():
    redactor = Redactor({"LOCAL": "opensesa", "OTHER": "opensesame"}, keys=["LOCAL"])
    assert redactor.redact("opensesa") == "[redacted:LOCAL]"
    assert redactor.exact.redact("say opensesa") == "say [redacted:LOCAL]"


def test_of_two_variables_with_one_value_the_first_name_is_told():
    redactor = Redactor({"B_KEY": "open-sesame-1", "A_KEY": "open-sesame-1"})
    assert redactor.redact("open-sesame-1") == "[redacted:A_KEY]"


def test_the_exact_redactor_knows_the_values_of_the_environment_and_no_shapes():
    redactor = Redactor({"MY_KEY": "open-sesame-1"})
    example = f"sk-{BODY} https://a:b@c Authorization: Bearer {BODY}"
    assert redactor.exact.redact(f"open-sesame-1 {example}") == f"[redacted:MY_KEY] {example}"
    data = {"api_key": "abc", "headers": {"authorization": "open-sesame-1", f"sk-{BODY}": [example]}}
    clean = {"api_key": "abc", "headers": {"authorization": "[redacted:MY_KEY]", f"sk-{BODY}": [example]}}
    assert redactor.exact.redact_value(data) == clean
    assert json.loads(redactor.exact.redact_json(json.dumps(data))) == clean
    assert redactor.redact(f"sk-{BODY}") == "[redacted:api-key]"


def test_the_exact_redactor_returns_json_text_without_a_known_value_as_it_is():
    text = json.dumps({"api_key": "abc", "say": f"Authorization: Bearer {BODY}"}, indent=3)
    assert Redactor({"MY_KEY": "open-sesame-1"}).exact.redact_json(text) == text


def test_redacting_twice_changes_nothing_more():
    redactor = Redactor({"MY_KEY": "open-sesame-1"})
    once = redactor.redact(f"open-sesame-1 sk-{BODY} https://a:b@c Authorization: Bearer {BODY}")
    assert redactor.redact(once) == once


def test_structure_stays_when_a_secret_is_the_name_of_a_field():
    name = "simulated_2024"
    value = {name: True, "text": name, "n": [1, None, 2.5, name]}
    redacted = Redactor({"OPENAI_API_KEY": name}).redact_value(value)
    mark = "[redacted:OPENAI_API_KEY]"
    assert redacted == {name: True, "text": mark, "n": [1, None, 2.5, mark]}


def test_fields_named_like_credentials_are_emptied_and_field_names_cleared_of_keys():
    value = {
        "headers": {"X-Api-Key": "abc", "accept": "json"},
        "api_key": "",
        f"sk-{BODY}": 1,
        "api_key_env": "A_KEY",
    }
    assert Redactor().redact_value(value) == {
        "headers": {"X-Api-Key": "[redacted:authorization]", "accept": "json"},
        "api_key": "",
        "[redacted:api-key]": 1,
        "api_key_env": "A_KEY",
    }


@pytest.mark.parametrize(
    "text", ['{"a": [1, "task-1"]}', '"https://example.org"', "1.50", '"\\u00e9"', '{"b":1,"a":2}']
)
def test_json_text_without_secrets_is_returned_as_it_is(text):
    assert Redactor({"MY_KEY": "open-sesame-1"}).redact_json(text) == text


def test_secrets_in_json_text_are_found_behind_its_escapes():
    secret = 'say-"é"\\now-2024'
    redactor = Redactor({"MY_SECRET": secret})
    for ascii_only in (True, False):
        text = json.dumps({"a": f"x {secret}", "b": f"k sk-{BODY}"}, ensure_ascii=ascii_only)
        assert json.loads(redactor.redact_json(text)) == {"a": "x [redacted:MY_SECRET]", "b": "k [redacted:api-key]"}
