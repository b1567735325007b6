import base64
import json
import random
import uuid
from time import thread_time

from etude.redaction import Redactor
from rows import rows

# Put together at run time, so that no scanner takes this file for a leak.
BODY = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
HEX = "0123456789abcdef" * 4
PEM_LINES = "\n".join(["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7" + BODY[:12]] * 3)


@rows(
    ("secret", "kind"),
    [
        ("sk-" + BODY, "api-key"),
        ("sk-proj-" + BODY + "_x-" + BODY, "api-key"),
        ("sk-ant-" + "api03-" + BODY + "-AA", "api-key"),
        ("sk-or-v1-" + HEX, "api-key"),
        ("sk-ant-" + "api03-" + BODY + "." + HEX, "api-key"),
        ("xai-" + BODY + "." + "ab1" + "." + HEX, "api-key"),
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
@rows("around", ["{}", "the key {} is mine", '{{"key": "{}"}}', "key={}", "'{}',", "\n{}\n"])
def test_credentials_are_replaced_and_the_text_around_them_stays(secret, kind, around):
    assert Redactor().redact(around.format(secret)) == around.format(f"[redacted:{kind}]")


@rows(
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


@rows(
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


@rows("value", ["", "postgres", "a1b2c3d4e5f", "internationalisation", "123456789012", "the year 2024 it was"])
def test_values_that_do_not_look_like_a_key_are_left_alone(value):
    redactor = Redactor({"POSTGRES_PASSWORD": value, "API_KEY": value})
    for known in (redactor, redactor.exact):
        assert known.redact(f"the word {value} in a text") == f"the word {value} in a text"
        assert known.redact_json(json.dumps([value])) == json.dumps([value])


SETTINGS = "target:\n  model: openai:gpt-5\n  temperature: 0.0\nrun:\n  name: first\n"


@rows("key", ["e", "x", "EMPTY", "openai:", " target ", "model:"])
def test_a_key_that_is_too_short_to_be_one_is_left_alone_and_settings_stay_what_they_are(key):
    redactor = Redactor({"OPENAI_API_KEY": key}, keys=["OPENAI_API_KEY"])
    assert redactor.redact(SETTINGS) == SETTINGS
    assert redactor.redact_json(json.dumps([key])) == json.dumps([key])


def test_a_named_key_is_taken_out_whatever_it_looks_like_from_eight_characters_on():
    redactor = Redactor({"LOCAL": "opensesa", "OTHER": "opensesame"}, keys=["LOCAL"])
    assert redactor.redact("opensesa") == "[redacted:LOCAL]"
    assert redactor.exact.redact("say opensesa") == "say [redacted:LOCAL]"


def test_of_two_variables_with_one_value_the_first_name_is_reported():
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


@rows("text", ['{"a": [1, "task-1"]}', '"https://example.org"', "1.50", '"\\u00e9"', '{"b":1,"a":2}'])
def test_json_text_without_secrets_is_returned_as_it_is(text):
    assert Redactor({"MY_KEY": "open-sesame-1"}).redact_json(text) == text


def test_secrets_in_json_text_are_found_behind_its_escapes():
    secret = 'say-"é"\\now-2024'
    redactor = Redactor({"MY_SECRET": secret})
    for ascii_only in (True, False):
        text = json.dumps({"a": f"x {secret}", "b": f"k sk-{BODY}"}, ensure_ascii=ascii_only)
        assert json.loads(redactor.redact_json(text)) == {"a": "x [redacted:MY_SECRET]", "b": "k [redacted:api-key]"}


TRANSCRIPTS = Redactor.for_transcripts()
MARK = "\n[... 120 characters left out ...]\n"


def said(text: str) -> list[tuple[str, str]]:
    """Pairs of `text => clean text`, one a line; `#` stands for a key of letters and digits, `%%` for a cut."""
    lines = [line.replace("#", BODY).replace("%%", MARK) for line in text.strip().splitlines()]
    return [(before, after.strip()) for before, after in (line.rstrip().split(" => ") for line in lines)]


ASSIGNED = said(
    r"""
GITHUB_TOKEN=abcdef => GITHUB_TOKEN=[redacted:token]
export DB_PASSWORD='hunter two' => export DB_PASSWORD='[redacted:password]'
DB_PASSWORD=correct,horse&x next => DB_PASSWORD=[redacted:password] next
  password: hunter2  => password: [redacted:password]
password: swordfish => password: [redacted:password]
"password": "p ss" => "password": "[redacted:password]"
secret=abc => secret=[redacted:secret]
{"password": "hunter2", "user": "me"} => {"password": "[redacted:password]", "user": "me"}
{\"password\": \"hunter2\", \"a\": 1} => {\"password\": \"[redacted:password]\", \"a\": 1}
{"apiKey":"abc12345"} => {"apiKey":"[redacted:api-key]"}
{'token': 'abc123def'} => {'token': '[redacted:token]'}
{"clientSecret": "shhh"} => {"clientSecret": "[redacted:secret]"}
{"cmd": "TOKEN=abc\nls"} => {"cmd": "TOKEN=[redacted:token]\nls"}
Server=db;Uid=me;Password=p,a'b;Database=x => Server=db;Uid=me;Password=[redacted:password];Database=x
Server=db;Pwd={a;b};Database=x => Server=db;Pwd={[redacted:password]};Database=x
Server=db;Pwd={abc};Database=x => Server=db;Pwd={[redacted:password]};Database=x
Server=db;PWD=abc;Database=x => Server=db;PWD=[redacted:password];Database=x
AccountKey=abc+/def==;Endpoint=x => AccountKey=[redacted:api-key];Endpoint=x
host=db password=hunter dbname=x => host=db password=[redacted:password] dbname=x
https://h/x?sv=1&sig=abcDEF123%2Fabcdefg%3D&se=2 => https://h/x?sv=1&sig=[redacted:signature]&se=2
https://h/x?token=abc&y=1 => https://h/x?token=[redacted:token]&y=1
db.password = hunter2 => db.password = [redacted:password]
password = "hunter2" => password = "[redacted:password]"
password: str = "hunter2" => password: str = "[redacted:password]"
os.environ["API_KEY"] = "abc-123-def" => os.environ["API_KEY"] = "[redacted:api-key]"
AWS_SECRET_ACCESS_KEY=wJalr/K7MDENG+b => AWS_SECRET_ACCESS_KEY=[redacted:api-key]
api-key: 0123456789abcdef0123456789abcdef => api-key: [redacted:api-key]
SESSION_KEY=a1b2c3d4e5f6 => SESSION_KEY=[redacted:api-key]
Use `DB_PASS=hunter` now => Use `DB_PASS=[redacted:password]` now
RUN_TOKEN=0b9f3a1c-1111-2222-3333-444455556666 => RUN_TOKEN=[redacted:token]
password='hunter2 => password='[redacted:password]
login(user=me, password=hunter22) => login(user=me, password=[redacted:password])
tool --api-key abc123def456 x => tool --api-key [redacted:api-key] x
tool --password 'hunter two' => tool --password '[redacted:password]'
the password is Tr0ub4dor&3. => the password is [redacted:password].
password: 123456 => password: [redacted:password]
password=# => password=[redacted:password]
token: abcdefgh-1 => token: [redacted:token]
["psql", "--password", "hunter2"] => ["psql", "--password", "[redacted:password]"]
run('x', '--api-key','abc123def') => run('x', '--api-key','[redacted:api-key]')
[\"--db-password\", \"hunter2\"] => [\"--db-password\", \"[redacted:password]\"]
{"name":"DB_PASSWORD","value":"hunter2"} => {"name":"DB_PASSWORD","value":"[redacted:password]"}
- {key: API_TOKEN, value: abc123def} => - {key: API_TOKEN, value: [redacted:token]}
password=a.b.c => password=[redacted:password]
password: correct.horse.battery // mine => password: [redacted:password] // mine
password = correct.horse.battery => password = [redacted:password]
db.password=Summer.Of.Rain => db.password=[redacted:password]
tool --password correct.horse.battery => tool --password [redacted:password]
api_key=abc.def.ghi => api_key=[redacted:api-key]
token=hunter2->next => token=[redacted:token]
variable = "STRIPE_KEY", value = "a1b2c3d4e5f6" => variable = "STRIPE_KEY", value = "[redacted:api-key]"
"""
)
SHAPED = said(
    r"""
npm_# => [redacted:token]
pypi-AgEIcHlwaS5v# => [redacted:token]
SG.#.# => [redacted:token]
123456789:AA#a1B2c3 x => 123456789:AA#a1B2c3 x
tvly-dev-# => [redacted:token]
##aBcDeFgHiJkLmNoPJQQJ99ABCDEFGHIJKLMNOPQRSTUVWXYZ => ##aBcDeFgHiJkLmNoPJQQJ99ABCDEFGHIJKLMNOPQRSTUVWXYZ
https://hooks.slack.com/services/T000/B000/XXXX1234 => https://hooks.slack.com/services/[redacted:webhook]
curl x -H 'Cookie: sid=abc; x=d' => curl x -H 'Cookie: [redacted:cookie]'
Cookie: sid="a b"; x=y => Cookie: [redacted:cookie]
Set-Cookie: sid=abc; Path=/ => Set-Cookie: [redacted:cookie]
{"Cookie": "sid=abc"} => {"Cookie": "[redacted:cookie]"}
document.cookie = "sid=abc; path=/" => document.cookie = "[redacted:cookie]"
mysql -u root -phunter db => mysql -u root -p[redacted:password] db
sshpass -p hunter ssh x => sshpass -p [redacted:password] ssh x
docker login -u me -p hunter2 reg => docker login -u me -p [redacted:password] reg
curl -u me:hunter https://x => curl -u me:[redacted:password] https://x
postgres://me:p@ss@db/x => postgres://[redacted:password]@db/x
https://ghtoken1234567890abc@github.com/x => https://[redacted:token]@github.com/x
<password>hunter</password> => <password>[redacted:password]</password>
mail me.too+x@mail.example.com now => mail [redacted:email] now
"""
)
WORDS_WITHIN = said(
    """
DB_PASSWORD: hunter2secret => DB_PASSWORD: [redacted:password]
DB_PASSWORD: mytoken99 => DB_PASSWORD: [redacted:password]
spring.datasource.password=hunter2secret => spring.datasource.password=[redacted:password]
tool --password hunter2secret => tool --password [redacted:password]
pwd=hunter2secret => pwd=[redacted:password]
"""
)
CUT_THROUGH = said(
    """
key sk-a%%bcdef1234 and more => key [redacted:cut-secret]%%[redacted:cut-secret] and more
TOKEN=abc%%def and => TOKEN=[redacted:token]%%[redacted:token] and
TOKEN=abc%% and => TOKEN=[redacted:token]%% and
xa1%%# and => xa1%%[redacted:cut-secret] and
one%%AAAA\tBBBB-----END RSA PRIVATE KEY----- two => one%%[redacted:private-key] two
me@example.org%%and so on => [redacted:email]%%and so on
half of a thing%%and so on => half of a thing%%and so on
half of it %%# => half of it %%#
""".replace("\\t", "\t")
)


@rows(("text", "clean"), [*ASSIGNED, *SHAPED, *WORDS_WITHIN, *CUT_THROUGH])
def test_transcripts_lose_more_kinds_of_secrets_and_each_is_counted(text, clean):
    redacted, counts = TRANSCRIPTS.redact_counted(text)
    assert redacted.strip() == clean
    assert bool(counts) == (clean != text)
    assert sum(counts.values()) <= redacted.count("[redacted:")
    assert TRANSCRIPTS.redact_counted(redacted) == (redacted, {})
    assert TRANSCRIPTS.redact(text) == redacted


@rows(
    "text",
    [
        *("GITHUB_TOKEN=$GH", "GITHUB_TOKEN=${GH}", "token: ${{ secrets.GITHUB_TOKEN }}", "TOKEN=%TOKEN%"),
        *("password: <your password>", "password=<pw>", "password=***", "API_KEY=xxxxxxxx", "API_KEY=your-key-here"),
        *(
            "password: see the vault",
            "Password: required",
            '"password": "string"',
            "token: string;",
            "token?: string",
        ),
        *(
            "const token = await getToken();",
            "token = tokens[0]",
            "password=self.password",
            "if token == EOF: return",
        ),
        *("login(user=user, password=password)", "f(token=tok, x=1)", 'API_KEY = os.environ["API_KEY"]'),
        *("max_tokens: 5000", "token: 5", '{"token": "the", "logprob": -0.1}', "PWD=/home/user", "OLDPWD=/x pwd=~"),
        *("password = getpass.getpass()", "secret_name: my-db", "primary_key: id", "SORT_KEY=name", "token=a_token"),
        *("git@github.com:org/repo.git", "react@18.2.0 logo@2x.png user@1000.service", "@app.route('/')"),
        *("password: {{ vault }}", "password_file=/run/secrets/db", "PASSWORD=/run/secrets/db", "password="),
        *("def login(password: str, token: str | None = None): ...", "password: process.env.DB_PASSWORD,"),
        *("the token is base64-encoded", "the password is sha256-hashed", "Enter password:", "passwords: many"),
        *("Cookie: a small piece of text", 'cookie = request.cookies.get("x")', "npm_config_registry_url_version_2"),
        *("mysql -u root -p db", "curl -u $USER:$PASS https://x", "tool --password prompt", "sshpass -p $PW ssh x"),
        *(
            '"password": "Enter your password here"',
            '"secret": "a long story"',
            '"token": "a b"',
            "token=[redacted:x]",
        ),
        *('{"k8s": "secret: my-db-secret"}', 'password="${DB}"', "pwd: C:\\Users\\me", 'password="db_password"'),
        *("hello " + HEX[:40] + " commit 0b9f3a1c-1111-2222-3333-444455556666", "password: SecretStr"),
        *("password={password!r}", "password: (bool, optional)", 'password = ":****"', "A_KEY = os.urandom2024(32)"),
        *('ask("Password: ")', "password={name}"),
        *("password=user_token", "password: get_token2()", "password=self.token2"),
        *("password=config.db.password", "password = form.cleaned_data", "password: DataTypes.STRING,"),
        *("password=opts->pw", "password=$this->pw", "password=Config::DB_PASSWORD", "token = lexer.next"),
        *("--password config.password", "the password is wrong.", "dict(password=conn.pw, token=t.value)"),
        *("TOKEN=get_token(x)", "password=(yes)", "API_TOKEN=true", "the first half [... 3 characters left out ...]"),
    ],
)
def test_placeholders_code_and_prose_survive_in_transcripts(text):
    assert TRANSCRIPTS.redact_counted(text) == (text, {})


def test_redacting_a_jumble_of_secrets_twice_changes_nothing_more():
    parts = [
        *("password", "token", "=", ":", "'", '"', "{", "}", ";", "&", ",", "@", "-p", "://me:", "a@b.co", "hunter2")
    ]
    parts += [*("sig=", "--password", " ", "\n", MARK, f"sk-{BODY}", "[redacted:token]", "AAAA" * 5)]
    parts += [*("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----")]
    rng = random.Random(9)
    for _ in range(300):
        once = TRANSCRIPTS.redact("".join(rng.choices(parts, k=10)))
        assert TRANSCRIPTS.redact_counted(once) == (once, {})


@rows(
    ("text", "clean"),
    [
        ("[redacted:password]: hunter2", "[redacted:password]: hunter2"),
        ("--password a\\nb@c.de", "--password [redacted:password]"),
        (f"TOKEN=abc{MARK}def{MARK}ghi x", f"TOKEN=[redacted:token]{MARK}[redacted:token]{MARK}[redacted:token] x"),
        ("postgres://[redacted:token]@h", "postgres://[redacted:token]@h"),
    ],
)
def test_what_was_taken_out_gives_nothing_away_and_is_no_name(text, clean):
    assert TRANSCRIPTS.redact(text) == clean


def test_transcripts_keep_uuids_hashes_and_pictures():
    rng = random.Random(8)
    picture = "data:image/png;base64," + base64.b64encode(rng.randbytes(100_000)).decode()
    ids = " ".join(str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(200))
    hashes = " ".join(f"{rng.getrandbits(160):040x}" for _ in range(200))
    for text in (picture, ids, hashes):
        assert TRANSCRIPTS.redact_counted(text) == (text, {})


def test_fields_of_json_are_known_by_their_names():
    value = {
        "password": "hunter2",
        "user": {"apiToken": "abc123", "token_type": "bearer", "token": "the", "n": 3, "tokens": ["abc123"]},
        "secret": "",
        "pwd": "/home/user",
        "api_key": "abc",
        "access_token": "[redacted:token]",
        "DB_KEY": "a1b2c3d4e5f6",
        "key": "sk-" + BODY,
        "client_secret": "sk-" + BODY,
        "PRIVATE_TOKEN": "abc",
    }
    clean, counts = TRANSCRIPTS.redact_value_counted(value)
    assert clean == {
        "password": "[redacted:password]",
        "user": {
            "apiToken": "[redacted:token]",
            "token_type": "bearer",
            "token": "the",
            "n": 3,
            "tokens": ["abc123"],
        },
        "secret": "",
        "pwd": "/home/user",
        "api_key": "[redacted:authorization]",
        "access_token": "[redacted:token]",
        "DB_KEY": "[redacted:api-key]",
        "key": "[redacted:api-key]",
        "client_secret": "[redacted:api-key]",
        "PRIVATE_TOKEN": "[redacted:token]",
    }
    assert counts == {"password": 1, "token": 2, "authorization": 1, "api-key": 3}
    assert TRANSCRIPTS.redact_value_counted(clean) == (clean, {})
    assert json.loads(TRANSCRIPTS.redact_json(json.dumps(value))) == clean


def test_fields_of_json_are_known_by_the_flag_or_the_name_beside_them():
    value = [
        ["psql", "--password", "hunter2", "--host", "db"],
        {"command": ["tool", "--api-key", "abc", "--db-password", "--verbose"]},
        {"name": "DB_PASSWORD", "value": "hunter2"},
        {"Value": "abc123def", "Key": "API_TOKEN"},
        {"name": "Authorization", "value": "a b"},
        {"password": ["hunter2", "--verbose"], "name": "size", "value": "large"},
        {"name": "password", "value": "string"},
        {"name": "password", "value": 3},
    ]
    clean, counts = TRANSCRIPTS.redact_value_counted(value)
    assert clean == [
        ["psql", "--password", "[redacted:password]", "--host", "db"],
        {"command": ["tool", "--api-key", "[redacted:authorization]", "--db-password", "--verbose"]},
        {"name": "DB_PASSWORD", "value": "[redacted:password]"},
        {"Value": "[redacted:token]", "Key": "API_TOKEN"},
        {"name": "Authorization", "value": "[redacted:authorization]"},
        {"password": ["[redacted:password]", "[redacted:password]"], "name": "size", "value": "large"},
        {"name": "password", "value": "string"},
        {"name": "password", "value": 3},
    ]
    assert counts == {"password": 4, "token": 1, "authorization": 2}
    assert TRANSCRIPTS.redact_value_counted(clean) == (clean, {})
    assert Redactor().redact_value(value) == value


@rows(
    "text",
    [
        '["--password", "--host", "db"]',
        "add_argument('--password', '-p', help='the password')",
        "run(['x', '--api-key', key])",
        '{"name": "token", "value": "string"}',
        "key: total\nvalue: a1b2c3d4",
    ],
)
def test_flags_and_names_without_a_secret_beside_them_survive_in_transcripts(text):
    assert TRANSCRIPTS.redact(text) == text


def test_counting_tells_kinds_and_no_values():
    redactor = Redactor({"MY_KEY": "open-sesame-1"})
    text, counts = redactor.redact_counted(f"open-sesame-1 sk-{BODY} open-sesame-1 hunter2")
    assert text == "[redacted:MY_KEY] [redacted:api-key] [redacted:MY_KEY] hunter2"
    assert counts == {"MY_KEY": 2, "api-key": 1}


def test_the_exact_redactor_of_transcripts_knows_values_only():
    redactor = Redactor.for_transcripts({"MY_KEY": "open-sesame-1"}).exact
    text = f"password: hunter2 me@example.org sk-{BODY}"
    assert redactor.redact_counted(f"{text} open-sesame-1") == (f"{text} [redacted:MY_KEY]", {"MY_KEY": 1})


def test_named_keys_are_known_in_transcripts_too():
    redactor = Redactor.for_transcripts({"LOCAL": "opensesa"}, keys=["LOCAL"])
    assert redactor.redact("say opensesa") == "say [redacted:LOCAL]"


BOMBS = (
    *("a.", "sk-", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAAAAAAAAAAAAAAAAAA\n", "://a:"),
    *(
        "eyJaaaaaaaa.",
        "authorization: bearer ",
        "password=",
        "password: x # ",
        "password=$(",
        "password='",
        "token=<",
    ),
    *("--a-a-a-a-password", "password is ", "a@a.", 'Cookie: a="', "mysql -a ", "curl -u a:", "<password>", "sig="),
    *('"--password",', '"--password", "', "name=", 'name: "password', "key:password value ", "name-key "),
    *("eyJ", "eyJ_", "sk-ant-", "nvapi-", "npm_", "token ", "api_key a", "login a password ", "pplx-a"),
    *("\x1b[", "\x1b]", "\\u001b["),
    *(
        "[... 1 characters left out ...]\n",
        "[redacted:",
        "password=" + "a" * 250 + " ",
        "password = ",
        "token: a:a(",
        " ",
        "\n",
        "a\n",
    ),
)


@rows("bomb", BOMBS)
def test_a_text_made_to_be_slow_takes_time_that_grows_with_its_length(bomb):
    text = bomb * (15_000 // len(bomb)) + MARK
    began = thread_time()
    assert len(TRANSCRIPTS.redact(text)) > 0
    assert len(Redactor().redact(text)) > 0
    assert thread_time() - began < 1  # the square of so many characters takes many seconds
