"""Secrets that nothing but the words before them gives away: `my token is ...`, `login me password ...`.

For transcripts only. A name in a sentence is followed by prose more often than by a secret, so that what is taken
there has a digit in it, and a length.
"""

import re

from etude.redaction.shapes import Shape

_ENGLISH = ("password", "passphrase", "pwd")
"""What follows `=` or `:` after these in the same line, `assignments` judges: it knows paths, code and types."""
_SAID = r"(?:\s{0,4}(?:\b(?:is|was|ist|lautet|est|es|è)\b:?|是|は|为|：)|:\s{0,3}\n)"
_NAMES = (
    *(
        "passwort",
        "kennwort",
        "mot de passe",
        "contraseña",
        "contrasena",
        "senha",
        "parola",
        "wachtwoord",
        "mdp",
        "clave",
    ),
    *("пароль", "密码", "密碼", "パスワード", "비밀번호"),
)
_IS = r"\s{0,4}(?:[:：=]|\b(?:is|was|ist|lautet|est|es|è)\b:?|是|は|为)\s{0,4}[\"'`]?"
# Whatever stands in quotes, brackets or dollars, what was taken out already, names of methods, calls and attributes
# are not secrets.
_VALUE = (
    r"(?![A-Za-z_][\w.]{0,64}\(|(?:self|this|cls|os|env|args|config|settings|process|request)\.)"
    r"(?![\[<$({%*]|https?:|(?:base|sha|md|utf|argon|pbkdf)-?\d)(?=[^\s\"'`]{0,64}\d)(?=[^\s\"'`]{0,64}[^\W\d_])"
    r"[^\s\"'`,;<>(){}\[\]]{6,}[^\s\"'`,;<>(){}\[\].:!?]"
)
_IN_QUOTES = r"\"(?![{$<%])[^\"\n]{4,80}\"|`(?![{$<%])[^`\n]{4,80}`|'(?![{$<%])[^'\n]{4,80}'"
_OF = r"(?:for|of|to|on|für|zu|vom|der|de|del|della|du|des|da|do|van)"

SPOKEN_SHAPES: tuple[Shape, ...] = (
    Shape(
        "private-key",
        ("client-key-data",),
        r"(?P<keep>client-key-data\\{0,8}[\"']?\s{0,8}:\s{0,8}\\{0,8}[\"']?)[A-Za-z0-9+/]{16,}=*",
        re.IGNORECASE,
    ),
    # As `.netrc` has it.
    Shape(
        "password",
        ("login",),
        r"(?P<keep>login\s{1,8}[^\s\"']{1,128}\s{1,8}password\s{1,8})(?![\[<$*{])(?=[^\s\d]{0,64}\d)[^\s\"'\\]{4,}",
        re.IGNORECASE,
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"(?P<keep>(?<!\w)authorization\\{0,8}[\"']?\s{0,8}[:=]\s{0,8}\\{0,8}[\"']?(?:bearer|basic)\s{1,8})"
        r"(?!auth|token|credential|your|access)[\w.~+/-]{8,}=*",
        re.IGNORECASE,
    ),
    Shape("password", _ENGLISH, rf"(?P<keep>(?:{'|'.join(_ENGLISH)}){_SAID}\s{{0,4}}[\"'`]?){_VALUE}", re.IGNORECASE),
    Shape("password", _NAMES, rf"(?P<keep>(?:{'|'.join(_NAMES)}){_IS}){_VALUE}", re.IGNORECASE),
    # `user deploy and password ...`: what follows has to look like one.
    Shape(
        "password",
        ("password ",),
        r"(?P<keep>(?<![\w-])password )(?=[^\s\"'`]{0,64}\d)(?=[^\s\"'`]{0,64}[A-Z])(?=[^\s\"'`]{0,64}[a-z])"
        r"(?![A-Za-z_][\w.]{0,64}\()[^\s\"'`,;<>(){}\[\]]{7,}[^\s\"'`,;<>(){}\[\].:!?]",
    ),
    Shape("password", ("pw", "pass"), rf"(?P<keep>(?<![\w-])(?:pw|pass|passwd){_IS}){_VALUE}", re.IGNORECASE),
    # `the passphrase for the backup is ...`: in quotes it may have several words.
    Shape(
        "password",
        (*_ENGLISH, "passcode", "pw ", *_NAMES),
        rf"(?P<keep>(?<!\w)(?:passcode|pw|{'|'.join((*_ENGLISH, *_NAMES))}) {_OF} "
        rf"[^\n:=.]{{1,80}}?(?:{_IS}|: ?)(?<![\"'`]))(?:{_IN_QUOTES}|{_VALUE})",
        re.IGNORECASE,
    ),
    Shape(
        "password",
        ("passphrase", "passwort", "password"),
        rf"(?P<keep>(?<!\w)(?:passphrase|passwort|password) (?:is|ist):?\s{{1,4}})(?:{_IN_QUOTES})",
        re.IGNORECASE,
    ),
    Shape(
        "token",
        ("token",),
        r"(?P<keep>(?<![A-Za-z0-9])token (?:is:? )?)(?!(?:base|sha|md|utf)-?\d)"
        r"(?=[A-Za-z_-]{0,64}\d)(?=[\d_-]{0,64}[A-Za-z])[A-Za-z0-9_-]{10,}(?![\w.(/])",
        re.IGNORECASE,
    ),
    Shape(
        "api-key",
        ("key ", "key\t"),
        r"(?P<keep>(?:_|api[ _-]?|access[ _-]?|secret[ _-]?|private[ _-]?)key[ \t]{1,4})"
        r"(?=[A-Za-z]{0,64}\d)[A-Za-z0-9]{20,}[A-Za-z0-9+/]*={0,2}(?![\w.(-])",
        re.IGNORECASE,
    ),
)
