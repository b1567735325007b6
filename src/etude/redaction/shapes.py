"""The shapes of credentials: what each kind looks like, so that it is known without knowing the secret.

Every pattern takes time that grows with the text and no faster: a repetition either is bounded, or stops where the
next match could begin.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Shape:
    """One kind of credential. What follows a key or a token behind a dot belongs to it."""

    kind: str
    markers: tuple[str, ...]
    """Lower-case texts, one of which every match contains: looking for them is far cheaper than the pattern."""
    text: str
    """Of the pattern. What a group `keep` matches stays in front of the redaction."""
    flags: re.RegexFlag = re.NOFLAG

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Made when a text has a marker: together they take as long as a tenth of what a command needs to start."""
        rest = r"(?:\.[A-Za-z0-9_-]+)*" if self.kind in ("api-key", "aws-key", "token") else ""
        return re.compile(f"(?:{self.text}){rest}" if rest else self.text, self.flags)


_START = r"(?<![A-Za-z0-9_-])"
_END = r"(?![A-Za-z0-9_-])"
# What tools print has escapes before a secret: of JSON, and the ends `m` and `K` of what colours a terminal.
_ESCAPE = r"(?<=\\[abefnrtv])|(?<=[\d\[;]m)|(?<=\[K)"
_LOOSE = rf"(?:(?<![A-Za-z0-9])|{_ESCAPE})"
# Tells a credential from a word of prose that follows `Bearer` or `Basic`.
_MIXED = r"(?=[\w.~+/-]*(?:\d|=|[a-z][A-Z]))"
_PEM_END = r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"


def _tokens(start: str, sure: str, inside: str) -> tuple[Shape, ...]:
    """Keys and tokens that are one word.

    Args:
        start: what has to be before a beginning that words of prose may end with.
        sure: what has to be before one that nothing else has.
        inside: what may be before the beginning of a JSON web token, from the start of its word on.
    """
    return (
        Shape(
            "api-key",
            ("sk-",),
            rf"{sure}sk-(?:ant|proj|svcacct)-[A-Za-z0-9_-]{{16,}}"
            rf"|{start}sk-(?:(?:or|admin)-[A-Za-z0-9_-]{{16,}}|[A-Za-z0-9]{{20,}}"
            r"|(?=(?:[A-Za-z_-]{0,40}\d){6})[A-Za-z0-9_-]{20,})",
        ),
        Shape("api-key", ("gsk_", "hf_", "xai-"), rf"{sure}(?:gsk_|hf_|xai-)[A-Za-z0-9]{{20,}}"),
        Shape("api-key", ("k_live_", "k_test_"), rf"{sure}[rs]k_(?:live|test)_[A-Za-z0-9]{{16,}}"),
        Shape("api-key", ("aiza",), rf"{sure}AIza[A-Za-z0-9_-]{{35}}{_END}"),
        Shape("aws-key", ("akia", "asia"), rf"{sure}A[KS]IA[0-9A-Z]{{16}}(?![A-Za-z0-9])"),
        Shape(
            "token",
            ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"),
            rf"{sure}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_\w{{20,}}|glpat-[A-Za-z0-9_-]{{20,}})",
        ),
        Shape("token", ("xox",), rf"{sure}xox[abeoprs]-[A-Za-z0-9-]{{10,}}"),
        Shape("jwt", ("eyj",), rf"{_START}{inside}eyJ[A-Za-z0-9_-]{{8,}}+\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*"),
    )


_PRIVATE_KEY = (
    Shape(
        "private-key",
        ("private key-----", "private key block-----"),
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----"
        # The text up to the next line of dashes, so that many beginnings without an end are read once each.
        rf"(?:[^-]*+(?:-(?!----(?:BEGIN|END) )[^-]*+)*+{_PEM_END}"
        r"|(?:(?:\s|\\{1,8}[nr])*[A-Za-z0-9+/=]{16,})+)",
    ),
)
_CREDENTIALS = (
    Shape(
        "password",
        ("://",),
        # The scheme is not matched: looking for its beginning from every letter of a long word takes its square.
        r"(?P<keep>(?<=[A-Za-z0-9+.-])://)[^\s/:@\"'<>\[]*:(?!\$\{?\w{1,64}\}?@)[^\s/@\"'<>]+(?=@)",
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"(?P<keep>authorization\\?[\"']?\s*[:=]\s*\\?[\"']?(?:bearer|basic|token)\s+)"
        rf"(?-i:{_MIXED})[\w.~+/-]{{8,}}=*",
        re.IGNORECASE,
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"(?P<keep>authorization\\?[\"']?\s*[:=]\s*\\?[\"']?)(?=[\w.-]*\d)[\w.~+/-]{20,}=*",
        re.IGNORECASE,
    ),
    Shape(
        "authorization",
        ("api-key", "api_key", "apikey"),
        rf"(?P<keep>{_LOOSE}x-api-key\\?[\"']?\s*[:=]\s*\\?[\"']?)(?=[\w.-]*\d)[\w.-]{{8,}}",
        re.IGNORECASE,
    ),
    Shape(
        "authorization", ("bearer",), rf"(?P<keep>{_LOOSE}bearer\s+)(?-i:{_MIXED})[\w.~+/-]{{16,}}=*", re.IGNORECASE
    ),
)

SHAPES: tuple[Shape, ...] = (*_PRIVATE_KEY, *_tokens(_START, _START, ""), *_CREDENTIALS)
_MARKERS = tuple(dict.fromkeys(marker for shape in SHAPES for marker in shape.markers))

_SURE_PREFIXES = (
    *("npm_", "whsec_", "pplx-", "lsv2_pt_", "lsv2_sk_", "api_org_", "dop_v1_", "doo_v1_", "shpat_", "shpss_"),
    *("lin_api_", "rubygems_", "shpca_", "shppa_", "sbp_", "nfp_", "ccipat_"),
)
_SHORT_PREFIXES = ("r8_", "ntn_", "dapi")
_DASHED_PREFIXES = (
    *("nvapi-", "tvly-", "sq0atp-", "sq0csp-", "dckr_pat_", "glsa_", "hvs.", "figd_", "gloas-", "gldt-", "glrt-"),
    *("atatt3", "gocspx-", "ya29.", "pypi-ag", "pmak-", "xapp-", "glptt-", "glcbt-", "glft-", "glsoat-", "glimt-"),
    *("glagent-", "pul-", "nrak-", "nrii-", "nrjs-", "hrku-", "xkeysib-", "xsmtpsib-", "akcp", "atbb", "sntrys_"),
    *("sntryu_", "sb_secret_", "glc_", "fo1_"),
)
"""What tokens of registries, clouds and other services begin with, in lower case. After the first two only letters
and digits follow, so that names in code are none."""
_AGE = "age-secret-key-1"
"""Of these secrets some have no digit."""
_PREFIXES = (*_SURE_PREFIXES, *_SHORT_PREFIXES, *_DASHED_PREFIXES, _AGE)

_COOKIE = r"\\?[\"']?\s{0,8}[:=]\s{0,8}"

TRANSCRIPT_SHAPES: tuple[Shape, ...] = (
    Shape(
        "token",
        _SURE_PREFIXES + _SHORT_PREFIXES,
        rf"(?:{'|'.join(map(re.escape, _SURE_PREFIXES))}|{_LOOSE}(?:{'|'.join(_SHORT_PREFIXES)}))"
        r"(?=[a-z]{0,64}\d)[a-z0-9]{20,}(?:_[a-f0-9]{8,})?",
        re.IGNORECASE,
    ),
    Shape(
        "token",
        _DASHED_PREFIXES,
        rf"{_LOOSE}(?:{'|'.join(map(re.escape, _DASHED_PREFIXES))})(?=[a-z_-]{{0,64}}\d)[\w-]{{20,}}[\w+/-]*={{0,2}}",
        re.IGNORECASE,
    ),
    Shape("token", (_AGE,), rf"{_AGE}[a-z0-9]{{20,}}", re.IGNORECASE),
    Shape("token", ("sg.",), rf"{_LOOSE}SG\.[\w-]{{16,64}}\.[\w-]{{16,64}}{_END}"),
    Shape("token", (":aa",), rf"(?<!\d)\d{{8,10}}:AA[\w-]{{30,40}}{_END}"),
    Shape("api-key", ("jqqj9",), rf"{_LOOSE}[A-Za-z0-9]{{52}}JQQJ9[A-Za-z0-9]{{27}}(?![A-Za-z0-9])"),
    Shape("secret", ("q~",), rf"(?:(?<![\w~.-])|{_ESCAPE})[\w~.-]{{3}}\dQ~[\w~.-]{{31,34}}(?![\w~.-])"),
    Shape(
        "webhook",
        ("hooks.slack.com/", "/api/webhooks/", "webhook.office.com/"),
        r"(?P<keep>hooks\.slack\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api/webhooks/"
        r"|webhook\.office\.com/webhookb2/)[\w/@.-]{8,}",
        re.IGNORECASE,
    ),
    Shape(
        "cookie",
        ("cookie",),
        # In quotes as a whole (`-H 'Cookie: a=b'`, `"Cookie": "a=b"`), else up to the end of the line.
        rf"(?P<keep>(?<=[\"'])(?:set-)?cookie:\s{{0,8}}|cookie{_COOKIE}\\?[\"'])(?=[\w.-]{{1,128}}=)[^\r\n\"']+"
        rf"|(?P<keep2>{_LOOSE}(?:set-)?cookie:\s{{0,8}})(?=[\w.-]{{1,128}}=)"
        r"(?:[^\r\n\\\"']|\"[^\"\r\n]{0,512}\")+",
        re.IGNORECASE,
    ),
    # Up to the last `@` before a slash: passwords may have one of their own.
    Shape("password", ("://",), r"(?P<keep>://)[^\s/:@\"'<>\[]*:(?!\$\{?\w{1,64}\}?@)[^\s/\"'<>]+(?=@)"),
    Shape("token", ("://",), r"(?P<keep>://)(?=[A-Za-z_-]*\d)[\w-]{16,}(?=@)"),
    Shape(
        "signature",
        ("sig=", "signature="),
        rf"(?P<keep>(?:(?<![A-Za-z])|{_ESCAPE})(?:sig|signature)=)[\w%+/-]{{16,}}=*",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("</",),
        r"(?P<keep><(?:\w{1,32}:)?(?:password|passphrase|secret|token)>)(?!\[redacted:|\$|\{|\*+<)"
        r"[^<>\s]{1,512}(?=</)",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("mysql", "mariadb"),
        rf"(?P<keep>{_LOOSE}(?:mysql|mariadb)[\w-]{{0,20}} (?:[^\n|;&]{{0,200}}? )??-p)(?![\s$<\[-])[^\s\"'|;&]+",
    ),
    Shape(
        "password",
        ("sshpass", " login", "mongo", "redis-cli"),
        rf"(?P<keep>{_LOOSE}(?:sshpass|(?:docker|podman|registry) login|mongo[a-z]{{0,8}}|redis-cli) "
        r"(?:[^\n|;&]{0,200}? )??(?:-p|-a) {0,4}[\"']?)(?![\s$<\[\"'-])(?=[^\s]*[^\s\d.])[^\s\"'|;&]+",
    ),
    Shape(
        "password",
        ("curl", "wget"),
        rf"(?P<keep>{_LOOSE}(?:curl|wget) (?:[^\n|;&]{{0,200}}? )??(?:-u|--user) {{0,4}}[\"']?[\w.@-]{{0,128}}:)"
        r"(?![\s$<\[\"'])[^\s\"'|;&]+",
    ),
    *_PRIVATE_KEY,
    *_tokens(_LOOSE, "", r"(?P<keep>[A-Za-z0-9_-]{0,64}?)"),
    *_CREDENTIALS,
)
"""Those of `SHAPES` among more: in what tools print a letter of an escape may stand before a secret."""

_BLANK = re.compile(r"x{8,}|X{8,}|\*{8,}")
"""Of a key that somebody is to fill in."""
_TERMINAL = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,512}(?:\x07|\x1b\\)|[@-Z\\^_])"
    # As JSON has it.
    r"|\\{1,8}u001[bB]\[[\d;?]{0,32}[A-Za-z]"
)

_NO_HOST = re.compile(
    r"\d+\.|\dx\.|.*\.(?:service|socket|timer|target|mount|slice|scope|png|jpe?g|gif|svg|webp|py|js|ts|json|md|txt)$",
    re.IGNORECASE,
)
_EMAIL = re.compile(
    r"(?<![\w.%+-])(?P<local>[\w.%+-]{1,256}+)@(?P<host>(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24})(?![\w-])"
)

_CUT = re.compile(
    r"\n?[\[(]?(?:\.\.\.|…) ?\[?\d+ [a-z]{1,20} (?:left out|truncated|omitted)\]? ?(?:\.\.\.|…)[\])]?\n?",
    re.IGNORECASE,
)
_CUT_MARKERS = ("left out", "truncated", "omitted")
_REACH = 512
_HEAD = re.compile(
    rf"(?:{_LOOSE}(?:sk-|gsk_|hf_|xai-|[rs]k_(?:live|test)_|AIza|A[KS]IA|gh[pousr]_|github_pat_|glpat-"
    rf"|xox[abeoprs]-|eyJ|(?i:{'|'.join(map(re.escape, _PREFIXES))}))[\w.+/=-]*)$"
)
_REDACTED_HEAD = re.compile(r"\[redacted:(?P<kind>(?!email\])[\w-]{1,128})\]$")
_TAIL = re.compile(r"(?!\[redacted:)[^\s\"'`<>,;&)}\]]+")
_PEM_TAIL = re.compile(rf"[A-Za-z0-9+/=\s]*+{_PEM_END}")
_KEYLIKE = re.compile(r"(?=[^a-z]*[a-z])(?=[^A-Z]*[A-Z])(?=[^0-9]*[0-9])[\w+/=.-]{24,}")


def has_marker(lowered: str) -> bool:
    """Whether a lower-case text may hold one of `SHAPES`."""
    return any(map(lowered.__contains__, _MARKERS))


def without_shapes(text: str, shapes: Sequence[Shape], counts: Counter[str]) -> str:
    """`text` with each match replaced by `[redacted:kind]`; `counts` grows by kind."""
    lowered = text.lower()
    for shape in shapes:
        if any(map(lowered.__contains__, shape.markers)):

            def replaced(match: re.Match[str], kind: str = shape.kind) -> str:
                if _BLANK.search(match[0]):
                    return match[0]
                counts[kind] += 1
                kept = match.groupdict()
                return f"{kept.get('keep') or kept.get('keep2') or ''}[redacted:{kind}]"

            text = shape.pattern.sub(replaced, text)
    return text


def without_terminal(text: str) -> str:
    """`text` without the sequences that colour a terminal or move its cursor: they may stand within a secret."""
    return _TERMINAL.sub("", text) if "\x1b" in text or "u001" in text else text


def without_addresses(text: str, counts: Counter[str]) -> str:
    """`text` without e-mail addresses. The user `git` of a remote, versions of packages, and names of files and units
    with an `@` are none."""
    if "@" not in text:
        return text

    def replaced(match: re.Match[str]) -> str:
        if match["local"].lower() == "git" or _NO_HOST.match(match["host"]):
            return match[0]
        counts["email"] += 1
        return "[redacted:email]"

    return _EMAIL.sub(replaced, text)


def without_cut_secrets(text: str, counts: Counter[str]) -> str:
    """`text` without the halves of secrets that its cuts went through: a source that left out the middle of a long
    text may have left a beginning that is too short for its shape, and an end that has none."""
    lowered = text.lower()
    if not any(marker in lowered for marker in _CUT_MARKERS):
        return text
    pieces: list[str] = []
    done, tail_kind = 0, ""
    for cut in _CUT.finditer(text):
        before = text[max(done, cut.start() - _REACH) : cut.start()]
        head = _HEAD.search(before)
        redacted = _REDACTED_HEAD.search(before)
        kind = "cut-secret" if head else redacted["kind"] if redacted else tail_kind if cut.start() == done else ""
        after = _PEM_TAIL.match(text, cut.end())
        if after is None:
            tail = _TAIL.match(text, cut.end(), cut.end() + 4 * _REACH)
            whole = before[-1:].isspace() or not before
            after = tail if tail and (kind or (not whole and _KEYLIKE.fullmatch(tail[0]))) else None
        else:
            kind = kind or "private-key"
        kind = kind or "cut-secret"
        if head is not None:
            pieces += [text[done : cut.start() - len(head[0])], "[redacted:cut-secret]"]
        else:
            pieces.append(text[done : cut.start()])
        pieces.append(cut[0])
        done, tail_kind = cut.end(), ""
        if after is not None:
            pieces.append(f"[redacted:{kind}]")
            done, tail_kind = after.end(), kind
        if head is not None or after is not None:
            counts[kind] += 1
    pieces.append(text[done:])
    return "".join(pieces)
