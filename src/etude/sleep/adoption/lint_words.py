"""The words by which a rule is known to name a program, a host or a file."""

__all__ = [
    "ACTIONS",
    "ALWAYS",
    "CHECKING",
    "FILE_ENDINGS",
    "LANGUAGES",
    "PROGRAMS",
    "RUN",
    "SCRIPT_ENDINGS",
    "STOPPING",
    "TOOLS",
    "TOP_LEVELS",
    "WORDS",
]


def _any(words: str) -> str:
    """A pattern for one of the words, the longest first, so that none hides behind its own beginning."""
    return "(?:" + "|".join(sorted(words.split(), key=lambda word: (-len(word), word))) + ")"


ALWAYS = _any(
    r"""
    curl wget sudo doas pkexec chmod chown chgrp npx uvx bunx mkfs(?:\.\w+)? killall pkill crontab xargs nohup rmdir
    powershell pwsh invoke-expression invoke-webrequest iwr certutil bitsadmin schtasks diskpart osascript launchctl
    systemctl iptables visudo useradd usermod adduser netcat ncat socat nmap telnet tftp scp sftp rsync sshpass ngrok
    mkfifo ssh-keygen ssh-add ssh-copy-id shutil\.rmtree os\.system subprocess\.\w+ child_process LD_PRELOAD
    """
)
"""Programs that fetch, send, change rights or destroy, and are nothing but programs: no rule needs to name them."""

PROGRAMS = _any(
    """
    zsh ksh tcsh csh ipython pypy irb ghci rscript tsx ts-node
    pip3 pipx pyenv rbenv virtualenv venv pnpm apt-get dpkg yum dnf apk zypper flatpak winget rustup nvm
    cmake ctest mvn gradlew msbuild dotnet xcodebuild gcc rustc javac
    pytest tox nox ruff flake8 isort pylint mypy pyright pre-commit eslint vitest tsc rspec rubocop
    phpunit gofmt golangci-lint shellcheck
    ssh tcpdump nslookup ifconfig ssh-agent
    kubectl kubeadm minikube docker-compose buildah skopeo gcloud gsutil doctl flyctl eksctl terragrunt
    psql pg_dump pg_restore mysqldump sqlite3 mongosh mongodump redis-cli dropdb createdb
    svn gh glab git-lfs
    awk sed grep fgrep egrep rm shred gunzip base64 openssl gpg journalctl dmesg umount fdisk
    lsof strace gdb tmux printenv whoami uname cron
    """
)
"""Programs whose names are nothing else. To name one is no harm, but is to be read by a person."""

TOOLS = _any(
    """
    git docker npm yarn pip cargo composer gem bundle bundler brew helm gradle maven terraform ansible vagrant uv deno
    bun poetry pdm conda mamba apt aptitude pacman snap choco podman aws az heroku vercel netlify wrangler pulumi tofu
    hg ant firebase supabase
    """
)
"""Programs that are told by a first word what to do, and share their names with a product or a word."""

LANGUAGES = _any(
    r"""
    python[\d.]* node nodejs ruby perl php java lua julia bash sh dash fish ansible-playbook mysql sqlite mongo redis
    tar zip unzip rg nc ftp cp mv tee vi vim nano mount unlink clang bazel ninja jest mocha prettier rpm dig
    """
)
"""Other programs that share their names with a language, a format or a word: `Python 3.11`, `bash scripts`."""

WORDS = _any(
    """
    make find cat sort test date time touch kill cut split join env export set source eval exec echo ln ls ps df du id
    su dd tr top head tail more less open start mail patch install watch at who screen link move copy del type reboot
    shutdown halt print ping host file xdg-open format diff mkdir cd
    """
)
"""Programs whose names are words."""

STOPPING = _any(
    """
    poweroff reboot shutdown halt reset kill killall pkill init telinit logout exit suspend hibernate wipe wipefs
    shred format mkfs fdisk parted dd rm unlink truncate mv swapoff umount
    """
)
"""Commands that end, empty or take away something, some of them by their name alone."""

ACTIONS = _any(
    """
    install i add remove rm uninstall run exec start stop restart deploy destroy apply delete create push pull publish
    login logout config update upgrade sync up down kill reset clean commit checkout clone merge rebase stash drop
    cherry-pick revert scale rollout edit drain cp mv mb rb invoke serve dlx prune dump restore migrate taint import
    enable disable mask daemon-reload s3 ec2 iam lambda compute ci upload download secrets auth eval -m
    """
)
"""What programs are told to do, as their first word."""

CHECKING = (
    r"(?:(?:uv\s+run|poetry\s+run|pdm\s+run|bundle\s+exec|python[\d.]*\s+-m)\s+)?(?:"
    r"pytest|unittest|doctest|tox|nox|ruff|black|isort|flake8|pylint|mypy|pyright|pre-commit|coverage|eslint|prettier"
    r"|jest|vitest|mocha|tsc|rspec|rubocop|phpunit|gofmt|golangci-lint|shellcheck|ctest"
    r"|(?:cargo|go)\s+(?:test|check|clippy|fmt|vet|build|doc)|(?:gradle|\./gradlew|gradlew|mvn|dotnet|swift)\s+(?:test"
    r"|check|build|verify|format)|make(?:\s+(?:tests?|checks?|lint|format|fmt|docs?|build|types?|typecheck|ci|all)(?![\w-])"
    r"|(?!\s+(?!(?:before|after|first|and|then|when|for|in|on|with)\b)\w))"
    r"|(?:npm|yarn|pnpm|bun)\s+(?:run\s+)?(?:tests?|t|lint|format|check|build|typecheck|types|docs)"
    r"|git\s+(?:status|diff|log|show|blame|grep)|(?:\./)?(?:scripts|bin|tools)/(?:tests?|check|lint|format|fmt|ci)"
    r"|grep|rg|ls|sort|diff|find|date|cat|head|tail|wc)"
)
"""Commands that look at a project and tell what is wrong with it, as the house rules of projects name them."""

RUN = (
    r"(?:(?:(?:re-?)?run(?:s|ning)?|execut(?:e|es|ing)|invok(?:e|es|ing)|launch(?:es|ing)?|spawn(?:s|ing)?"
    r"|exec|kick\s+off|fire\s+up|f[uü]hren?|starten?|ex[eé]cute[rz]?|lance[rz]?|ejecut[ae]r?|esegui(?:re)?"
    r"|execut[ae]r?|voer|draai|запусти(?:те)?)(?![A-Za-z-])|运行|運行|执行|執行|実行)"
)
"""Words, of several languages, for running a program."""

SCRIPT_ENDINGS = (
    r"(?:sh|bash|zsh|fish|py|pyc|js|mjs|cjs|ts|rb|pl|php|ps1|psm1|bat|cmd|com|exe|msi|jar|bin|run|command|vbs|lua|app"
    r"|appimage|dmg|deb|rpm|apk|whl|scpt|go|rs|java|sql|ipynb)"
)

FILE_ENDINGS = (
    r"(?:py|pyi|md|rst|txt|rs|sh|ts|tsx|js|jsx|mjs|cjs|json|jsonl|ya?ml|toml|ini|cfg|conf|html?|css|scss|xml|csv|tsv"
    r"|sql|go|java|kt|rb|pl|php|cc?|cpp|h|hpp|cs|so|lock|log|png|jpe?g|svg|pdf|vue|swift|scala|lua|ex|exs|hs|ml|d|git|zip|tar|tgz|gz|bz2|xz)"
)
"""What stands behind the dot in names of files, though some are domains as well."""

TOP_LEVELS = _any(
    """
    com net org io dev ai app co ru cn info biz xyz top site online cloud sh me gg link click onion local example
    invalid localhost internal lan intranet edu gov mil int tech store shop blog page pages web icu club live pro wiki
    space website world today life agency systems digital network download zip mov tk ml ga cf gq
    de uk fr eu us ca au nz jp kr tw hk sg es pt nl lu ch li dk se fi ee lt lv pl cz sk hu ro bg gr hr rs si ua kz tr
    il ir sa ae eg za ng ke br ar cl mx pe ve ie ly fm tv cc ws vip nu gl ge am az bz su vn ph th pk bd lk
    """
)
"""Endings of names of hosts, without those that are words of a language or code: `user.id`, `row.in`, `x.to`."""
