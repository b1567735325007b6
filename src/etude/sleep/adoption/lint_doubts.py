"""Signs that a rule may be about more than how an answer looks: a person reads it before it is adopted.

Flat lists of words, made to miss little and not to understand much. None of them bars a rule: a rule about passwords
or scripts may be a good one.
"""

from etude.sleep.adoption.lint_signs import Sign, sign
from etude.sleep.adoption.lint_words import ALWAYS, PROGRAMS

__all__ = ["SIGNS"]

_NEAR = r"[^.!?\n]{0,70}?"
_NEGATION = (
    r"(?:not|never|cannot|no|none|nothing|without|(?:do|does|did|wo|ca|should|must|need|is|are|would|could)n['’]?t"
    r"|avoid\w*|leav\w*|omit\w*|skip\w*|stop\w*|disabl\w*"
    r"|turn\w*|switch\w*|suppress\w*|silenc\w*|mut(?:e|ed|ing)|weaken\w*|loosen\w*|relax\w*|lower\w*|forgo\w*|hid(?:e|es|den|ing)"
    r"|instead|rather|ignor\w*|drop\w*|swallow\w*|pass(?:es|ed)?|mark\w*|exempt\w*|exclud\w*|needless|unnecessary|optional"
    r"|waiv\w*|less|fewer|off|away|refrain\w*|forget\w*|neglect\w*|spare|dispens\w*|unless|even\s+(?:if|though|when))"
)
_CHECK = (
    r"(?:tests?|testing|tested|suites?|checks?|checked|checking|checker|review\w*|secur\w*|safe\w*|lint\w*|fail\w*"
    r"|assert(?:s|ing|ions?)|ci|audit\w*|scan\w*|guards?|guardrails?|inspect\w*|proof\w*|sanit\w*|escap\w*|validat\w*"
    r"|problems?|bugs?|vulnerab\w*|warnings?|errors?|exceptions?|risks?|caveats?|limitations?|doubts?|backups?)"
)
_HARMLESS_CHECK = r"(?!\s+(?:names?|cases?|doubles?|messages?)\b)"
_TELL = (
    r"(?:tell\w*|told|mention\w*|notif\w*|inform\w*|warn\w*|alert\w*|reveal\w*|disclos\w*|admit\w*|announc\w*|report\w*"
    r"|say\s+(?:that|anything)|talk\w*|speak\w*|know\w*|show\w*|log\w*|confess\w*|acknowledg\w*|record\w*|bother\w*"
    r"|ask\w*|wait\w*|check(?:ing)?\s+with|consult\w*|refus\w*|declin\w*|hesitat\w*)"
)
_TEXT = (
    r"(?!\s+(?:(?:the|a|an|any|all|each|every|its|their)\s+)?(?:(?:leading|trailing|repeated|duplicate[ds]?|empty|blank|single|few"
    r"|given|remaining|numbered|opening|closing|long|short|whole|exact|last|first|article)\s+)*(?:words?|wording|case|duplicates?"
    r"|zeros?|zeroes|digits?|decimals?|fractions?|letters?|spaces?|white\s?space|punctuation|commas?|dots?|periods?|articles?"
    r"|preambles?|introductions?|greetings?|headings?|sections?|entr(?:y|ies)|items?|numbers?|quantities|apostrophes?|hyphens?"
    r"|lines?|year|month|day|units?|adjectives?|filler|jargon|apolog\w+|abbreviations?|emojis?|bullets?|capitals?"
    r"|order|pleasantries|disclaimers?|signatures?|symbols?|(?:unrelated\s+)?things|as\s+written)\b)"
)
"""What a rule of style may leave out or repeat, behind its verb."""
_OF_SECRETS = (
    r"(?:api|private|public|ssh|pgp|gpg|access|auth|secret|signing|encryption|deploy|license|host|master|security|my|your"
    r"|our|their|user['’]?s?)"
)
_TESTS = (
    r"(?!-?\s*time|\s+(?:(?:the|all)\s+)?(?:whole\s+)?(?:tests?|test\s+suite|checks?)"
    r"(?:\s+(?:before|after)\s+you\s+[\w\s]{1,40})?(?:[.,]|$))"
)
"""Tests and checks may be run."""
_API = (
    r"(?!\s+(?:functions?|methods?|apis?|class(?:es)?|interfaces?|names?|attributes?|constants?|members?|fields?)\b)"
)


def _words(kind: str, what: str, words: str) -> Sign:
    """Any of the words, each a pattern, also where they are parts of a name: `db_password`, `get-token`."""
    return sign(kind, what, rf"(?<![A-Za-z0-9])(?:{'|'.join(words.split())})(?![A-Za-z0-9])")


SIGNS = (
    _words(
        "secret",
        "speaks of secrets, or of what is private",
        rf"""
        pass[\s_-]?words? passwd pwd pass\s?phrases? pass\s?codes? pins? tokens? credentials? creds? secrets?
        secret\w+ cookies? keychains? keyrings? wallets? vaults? dotenv env environ environments? certificates?
        certs? log-?ins? logged logon sign-?in two-factor 2fa mfa otp ssh gpg pgp tls ssl oauth jwt bearer
        authenti\w+ authoriz\w+ authoris\w+ auth {_OF_SECRETS}[\s_-]*keys? authorized_keys api_?keys?
        private{_API} confidential personal(?!\s+pronouns?) (?<!case-)sensitive salar(?:y|ies) accounts? billing
        bank\w* payments? pay identit\w+ (?:process|shell|system)\s+variables?
        variables\s+of\s+the\s+(?:process|shell|system) connection\s+strings? licen[cs]es? cards? you\s+know
        you\s+were\s+(?:given|told) pass
        """,
    ),
    _words(
        "override",
        "speaks of rights, orders, or of whom to follow",
        r"""
        permissions? permit(?:s|ted)? permissive\w* approv\w+ consent\w* confirm\w* grant\w* admin\w*
        root(?!\s+cause) superuser sudo elevat\w+ privileg\w+ rights access(?:es|ed|ing)? allow(?:s|ed|ing)?
        unrestricted limitless freely obey\w* compl(?:y|ies|ied|ying|iance) heed\w* trust\w* believ\w+ authorit\w+
        precedence priorit\w+\s+over outrank\w* overrul\w+ overrid\w+ supersed\w+ bypass\w* circumvent\w*
        disregard\w* instruct\w* orders commands? commanded directives? wishes demands? rules? policy policies
        previous\w* earlier prior preceding binding void hereby revok\w+ cancel\w+ no\s+longer unconditional\w*
        hesitat\w+ whatever\s+(?:it|they|he|she|a|an|the) assume[ds]? pretend\w* act\s+(?:as|on)
        as\s+if\s+(?:the|it|they|you|there|an?) role-?play\w* persona jailbreak\w* operators?(?:'s)? owner(?:'s)?
        boss supervisor developers? prompts? agents? assistants? (?<!metric\s)systems?
        (?:do|follow|does|doing)\s+(?:what|as|whatever|so|everything|anything|it) you\s+(?:may|can|are\s+free)
        (?:answer|say|reply)\s+yes yes\s+to(?:\s+(?:all|every|any))? always\s+(?:agree|accept|say)\w* guardrails?
        safeguards? safet\w+ ethic\w* moral\w* legal\w* refus\w+ (?:text|everything|what|lines?|stands)\s+above
        above\s+this unattended autonom\w+ automatically outdated obsolete sandbox\w*
        instead\s+of\s+(?:the\s+)?users? acts? agree\w* everyone everybody control(?:s|led)? escalat\w*
        came\s+before (?:guidelines?|lines?|rules?|text)\s+above carr(?:y|ied|ies)\s+out steer\w* voice\s+of
        tells?\s+you free\s+of was\s+said replaces? expire[sd]? advisory todos? maintainers? notes? leave\s+to
        urgent importan\w+\s+than weight\s+as
        """,
    ),
    _words(
        "command",
        "speaks of what others wrote, or of places outside of the project",
        r"""
        pages?(?!\s+(?:numbers?|breaks?|ranges?|titles?)) web\w* internet online (?:hyper)?links? linked sites?
        wikis? readme\w* comment(?:s|ed|ing)? issues? tickets? attachments? in-?box e-?mails? e-?mailed mailbox
        guides? manuals? runbooks? playbooks? forums? blogs? feeds? urls? uris? hosts? domains? servers? remotes?
        cloud telemetry analytics track(?:er|ers|ing) pixels? collectors? webhooks? endpoints? ports? sockets?
        proxy proxies dns third[\s-]part\w+ partners? vendors? strangers? outsiders? competitors? channels? slack
        discord telegram gists? paste\w*bin\w* dropbox buckets? drives? external\w*
        outside\s+(?:of\s+)?(?:the|this) query\s+strings? folders? director(?:y|ies) home desktop clipboard
        production prod live\s+(?:system|data|site) databases? db machines? computers? disks? docs?\s+say
        web-?pages? portals? sidebars? handbooks? teams? contractors? sales staff group hear\s+of log\s+files?
        reports?\s+of
        """,
    ),
    _words(
        "command",
        "may have something run, installed or changed",
        rf"""
        (?:re-?)?run(?:s|ning)?{_TESTS} ran(?!\s+and) execut\w+ eval launch\w* invok\w+ trigger\w* spawn\w*
        double-?click\w* click\w* scripts? snippets? installers? install\w* set-?up
        code\s+blocks?\s+(?:in|from|on|of) programs? binar(?:y|ies) executables? macros? terminals? shells?
        consoles? powershell bash daemons? cron\w* jobs? services? process(?:es)? helpers? apps? applications?
        boot\w* reboot\w* restart\w* poweroff shut\s?down\w* halt\w* start-?up packages? dependenc(?:y|ies)
        depend\s+on plug-?ins? extensions? librar(?:y|ies)\s+from latest\s+version hooks?
        git(?!\s+(?:commit\s+)?(?:messages?|hash\w*)) git\w+
        commit(?:s|ted|ting)?(?!\s+(?:messages?|subjects?|titles?|bod)) merg\w+ rebas\w+ squash\w* branch(?:es)?
        repo repositor(?:y|ies) main\s+branch over\s+main to\s+main chmod chown writeable writable executable 777
        [0-7]?7[0-7][0-7] configur\w+ config\w* settings? firewalls? antivirus write\s+access hard-?cod\w+ md5
        sha-?1 pickle cors inject\w* debug\s+mode back-?doors? steps\s+(?:in|on|from|of)\s+the interpreters?
        evaluat\w+\s+(?:text|the\s+expression|input|code) pings? bring\s+up
        (?:build|form|make|join|compose)\w*\s+(?:queries|commands?|sql) joining\s+strings
        """,
    ),
    _words(
        "command",
        "may have something sent, copied or published",
        rf"""
        send(?:s|ing)? sent post(?:s|ed|ing)? publish\w* (?<!that\s)share[sd]? sharing attach\w*
        forward(?:s|ed|ing)? transmit\w* broadcast\w* stream\w* mirror\w* sync\w* push(?:es|ed|ing)? deploy\w*
        upload\w* download\w* fetch\w* visit\w* brows\w+ crawl\w* scrap(?:e|es|ed|ing) navigat\w+ look\s+up
        cop(?:y|ies|ied|ying){_TEXT} replicat\w* export\w* leak\w* exfiltrat\w* dump\w* embed\w* beacon\w*
        conversations? transcripts? chats? sessions? histor(?:y|ies) contact\w* telephone phones? submit\w*
        pass\s+on footers?\s+of header\s+of contents?\s+of publicly public{_API} diffs?
        reports?\s+(?:\w+\s+){{0,3}}to hand(?:s|ing)?\s+the pass(?:es|ing)?\s+(?:it|the|them) transfer\w*
        """,
    ),
    _words(
        "command",
        "may have something deleted or taken away",
        rf"""
        delet\w+ remov(?:e|es|ed|ing|al){_TEXT} wip(?:e|es|ed|ing) eras\w+ destroy\w* purg(?:e|es|ed|ing)
        truncat\w+ reset\w* kill\w* overwrit\w+ discard\w* drop(?:s|ped|ping)?{_TEXT} terminat\w+ trash\w*
        throw\w*\s+(?:away|out) get\s+rid clean(?:s|ed|ing)?\s+(?:up|out)
        clear(?:s|ed|ing)?\s+(?:the|all|out|every) nuke\w* empt(?:y|ies|ied|ying)\s+(?:the|all|every) revert\w*
        rollback restor\w+ rewrit\w+ format\s+the\s+(?:disk|drive) shred\w* mov(?:e|es|ed|ing)\s+(?:all|every|the)
        disabl\w+ deactivat\w+ uninstall\w* turn\w*\s+off switch\w*\s+off shut\w*\s+off comment\w*\s+out modify
        modif\w+ trim\s+(?:the\s+)?(?:validation|tests?|checks?) catch\w* swallow\w* vanish\w*
        """,
    ),
    _words(
        "override",
        "may hide something, or leave it out",
        rf"""
        quiet\w* silen\w+ stealth\w* covert\w* conceal\w* discre\w+ unnotic\w+ invisib\w+ hid(?:e|es|den|ing)
        undisclosed unsaid unmentioned nobody no\s+one anybody anyone behind\s+\w+\s+back notic(?:e|ed|es)
        claim\s+that verif\w+ skip(?:s|ped|ping)?{_TEXT} ignor(?:e|es|ed|ing){_TEXT}
        tests?\s+(?:have\s+)?pass(?:ed)? green suppress\w* yourself between\s+us trac(?:e|es|ing) as\s+though
        only\s+what what\s+went was\s+tested were\s+tested without\s+a\s+word bring\s+(?:this|it)
        not\s+(?:write|say)\s+(?:about|anything) omit\s+the as\s+facts? touched pretend\w* cleanup extra\s+steps?
        not\s+look\w* no\s+need need\s+not always\s+hold waste linters? pair\s+of\s+eyes hash(?:es)? validation
        failing assertion\s+with
        """,
    ),
    _words(
        "script",
        "speaks of text in another form, or of secret writing",
        r"""
        decod\w+ decrypt\w* encrypt\w* encoded base-?64 base-?32 rot-?13 cipher\w* caesar hex\s+string hexadecimal
        unescap\w* obfuscat\w* backwards? revers(?:e|ed|al|ing) spelled spelt initials unscrambl\w* deobfuscat\w*
        translate[sd]? right\s+to\s+left shift\w*
        """,
    ),
    _words("command", "names a program", rf"{ALWAYS} (?-i:{PROGRAMS})"),
    sign(
        "override",
        "may turn a check off, or keep a failure quiet",
        rf"\b{_NEGATION}\b{_NEAR}\b{_CHECK}\b{_HARMLESS_CHECK}",
    ),
    sign(
        "override",
        "may turn a check off, or keep a failure quiet",
        rf"\b(?:tests?|suites?|check(?:s|ing)?|review\w*|security|lint\w*|validation|backups?)\b{_NEAR}"
        r"\b(?:no|not|never|off|false|unnecessary|optional|superfluous|pointless|skipp\w+|needless|waste\w*|can\s+wait)\b",
    ),
    sign(
        "override",
        "may hide something from the user, or leave the user out",
        r"\b(?:not|never|without|no\s+(?:need|reason)|avoid\w*|stop\w*|refrain\w*|rather\s+than|instead\s+of|leav\w*|keep\w*"
        rf"|skip\w*|(?:do|does|did|wo|ca|should|must|need|is|are|would|could)n['’]?t)\s+(?:[^\s.!?]+\s+){{0,4}}?{_TELL}\b",
    ),
    sign(
        "override",
        "leaves the user out",
        rf"\busers?\b{_NEAR}\b(?:no|not|never|without|n['’]t|nothing|wrong|instead|later)\b",
    ),
    sign(
        "address",
        "holds a link, an image or a tag",
        r"\]\s*\(|!\[|^\s*\[[^\]\n]+\]:|<\s*/?\s*(?!b>|i>|/b>|/i>)[a-z][\w-]*[\s/>]",
    ),
    sign(
        "address",
        "names a host",
        r"(?<![:\w/])//[\w[]|\b(?:https?|ftp|file|ssh):|\b0x[0-9a-f]{6,}|(?<![\w.,-])\d{9,}(?![\w.,-])",
    ),
    sign(
        "role",
        "is laid out like a conversation",
        r"^[ \t>*+-]*(?:#{1,6}\s*|[*_\[(<]{1,3}\s*)?(?:system|assistant|user|human|developer|tool|agent)"
        r"(?:[ \t]*(?:[\])>*_]|$)|\s+[-–—>|=]|\s+(?:said|says|turn|message|note)\b)",
    ),
    sign(
        "script",
        "writes a word letter by letter",
        r"(?<![\w'’])(?P<first>[a-z])(?P<gap>[ \t,;./|·•_+-]{1,3})(?!(?P=first))[a-z](?:(?P=gap)[a-z]){2,}(?![\w'’])",
    ),
    sign("script", "writes letters as signs", r"[\u2460-\u24ff\U0001f100-\U0001f1ff\u20d0-\u20f0]"),
    sign("hidden", "writes a character as its number", r"%[2-7][0-9a-f]|\\[ux][0-9a-f{]|&#?\w{2,8};|\\[0-7]{3}"),
    sign(
        "blob",
        "holds what may be encoded data",
        r"(?<![\w/-])(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{10,}(?![\w-])"
        r"|(?-i:(?<![\w/.-])(?=[A-Za-z]*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9+]{12,}={0,2}(?![\w.(]))",
    ),
    sign(
        "blob",
        "joins words without spaces",
        r"(?<![\w`/.])[a-z]{24,}(?![\w`])|=\s*false\b|(?<!\w)[a-z]{5,}\d+[a-z]+\w*",
    ),
)
