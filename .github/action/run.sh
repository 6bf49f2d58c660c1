#!/usr/bin/env bash
# Installs leakgate and runs it, for the action in action.yml. The action's inputs are variables
# INPUT_*; the rest is GitHub's environment. Its exit code is leakgate's.
set -euo pipefail

die() {
	echo "::error title=leakgate::$1"
	exit 2
}

command -v go >/dev/null || die "there is no go command: use actions/setup-go before this action"

cd "${INPUT_WORKING_DIRECTORY:-.}"
bin=${RUNNER_TEMP:?}/leakgate-bin
mkdir -p "$bin"

# Records of tests are read by the leakgate of the same version: the version asked for, else the
# module's own if it has one as a tool, else that of this action.
if [ -n "${INPUT_VERSION:-}" ]; then
	GOBIN=$bin go install "github.com/leakgate/leakgate/cmd/leakgate@$INPUT_VERSION"
	leakgate=("$bin/leakgate")
elif go tool -n leakgate >/dev/null 2>&1; then
	leakgate=(go tool leakgate)
else
	(cd "${GITHUB_ACTION_PATH:?}" && GOWORK=$PWD/go.work GOFLAGS= go build -o "$bin/leakgate" ./cmd/leakgate)
	leakgate=("$bin/leakgate")
fi
"${leakgate[@]}" version

artifacts=$RUNNER_TEMP/leakgate-artifacts
{
	echo "artifacts=$artifacts"
	echo "sarif=$artifacts.sarif"
	echo "markdown=$artifacts.md"
} >>"${GITHUB_OUTPUT:?}"

flags=(-o "$artifacts" -sarif "$artifacts.sarif" -markdown "$artifacts.md")
if [ -n "${INPUT_BASE:-}" ]; then
	commit=$(git rev-parse --verify --quiet "$INPUT_BASE^{commit}" || true)
	if [ -z "$commit" ]; then # a checkout has one commit only, unless it is told otherwise
		git fetch --quiet --depth=1 origin "+refs/heads/$INPUT_BASE:refs/remotes/origin/$INPUT_BASE" ||
			die "there is no branch $INPUT_BASE to compare with"
		INPUT_BASE=origin/$INPUT_BASE
	fi
	flags+=(-base "$INPUT_BASE")
fi
[ "${INPUT_AUTO:-}" != true ] || flags+=(-auto)
[ -z "${INPUT_SHARD:-}" ] || flags+=(-shard "$INPUT_SHARD")

# Flags and packages are lists separated by white space.
read -r -d '' -a more < <(printf '%s\0' "${INPUT_FLAGS:-}") || true
read -r -d '' -a packages < <(printf '%s\0' "${INPUT_PACKAGES:-./...}") || true

code=0
"${leakgate[@]}" run "${flags[@]}" "${packages[@]}" "${more[@]}" || code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
exit "$code"
