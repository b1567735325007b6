"""A program `docker` for tests: it runs programs as they are, and notes what it was asked for."""

from pathlib import Path

import pytest

SCRIPT = r"""#!/bin/sh
# The variables are those that the program is given; $DOCKER_FAKE is the folder with what this engine is to say.
echo "$*" | tr '\n' ' ' >> "$DOCKER_FAKE/asked"
echo >> "$DOCKER_FAKE/asked"
if [ -e "$DOCKER_FAKE/down" ]; then
  echo "|false|[]"  # what was asked for, of nothing
  echo "Cannot connect to the Docker daemon" >&2
  exit 125
fi
word=$1; shift
case $word in
info) cat "$DOCKER_FAKE/info" ;;
create) echo created ;;
build)
  if [ -e "$DOCKER_FAKE/broken" ]; then echo "Step 2/3 : RUN make world"; echo "no rule to make world" >&2; exit 1; fi
  echo sha256:built > "$2" ;;
tag) touch "$DOCKER_FAKE/image-$2" ;;
cp) echo "from the image" > "$2/given.txt" ;;
image)  # inspect --format WHAT NAME
  if [ "$4" != sha256:built ] && [ ! -e "$DOCKER_FAKE/image-$4" ]; then echo "No such image" >&2; exit 1; fi
  cat "$DOCKER_FAKE/workdir" ;;
inspect)  # --format WHAT NAME
  if [ -e "$DOCKER_FAKE/state" ]; then cat "$DOCKER_FAKE/state"; else cat "$DOCKER_FAKE/$3"; fi ;;
run)
  env > "$DOCKER_FAKE/client"
  while true; do
    case $1 in
    --interactive|--init|--read-only) shift; continue ;;
    --name) name=$2 ;;
    --entrypoint) program=$2 ;;
    --workdir) cd "$2" || exit 1 ;;
    --env) export "$2" ;;
    --*) ;;
    *) break ;;
    esac
    shift 2
  done
  shift
  echo "running 0 false" > "$DOCKER_FAKE/$name"
  exec 3<&0
  "$program" "$@" <&3 &
  trap 'kill -TERM $!' TERM
  wait $!; code=$?
  if [ $code -gt 128 ]; then wait $!; code=$?; fi
  echo "exited $code false" > "$DOCKER_FAKE/$name"
  exit $code ;;
esac
"""


class FakeDocker:
    """Puts it first on the PATH."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "docker").write_text(SCRIPT)
        (folder / "bin" / "docker").chmod(0o755)
        patch.setenv("PATH", f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin")
        patch.setenv("DOCKER_FAKE", str(folder))
        self.say(info="29.0.1|true|[name=seccomp,profile=default]", workdir="/app")

    def say(self, **texts: str) -> None:
        """What it answers from here on."""
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def asked(self, word: str) -> list[str]:
        """What it was asked, of the commands that begin like this."""
        path = self.folder / "asked"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.strip() for line in lines if line.startswith(f"{word} ")]
