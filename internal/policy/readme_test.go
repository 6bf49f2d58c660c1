package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

// TestReadmeCommands checks that README.md has the two commands that .ci/run takes from it, each in
// a code block of its own, and that .ci/run does take them.
func TestReadmeCommands(t *testing.T) {
	readme := readFile(t, "README.md")
	for name, want := range map[string]string{"demo": "go run ./cmd/leakgate run ", "test": "go test ./..."} {
		blocks := regexp.MustCompile("(?m)^<!-- ci: "+name+" -->\n```sh\n((?:[^`].*\n)+)```$").FindAllStringSubmatch(readme, -1)
		if len(blocks) != 1 {
			t.Errorf("README.md has %d code blocks below <!-- ci: %s -->, expected 1", len(blocks), name)
			continue
		}
		command := strings.TrimSuffix(blocks[0][1], "\n")
		if strings.Contains(command, "\n") || !strings.HasPrefix(command, want) {
			t.Errorf("README.md, below <!-- ci: %s -->: %q is not one command that begins with %q", name, command, want)
		}
		if step := ".ci/steps/" + name; !strings.Contains(readFile(t, step), "$(readme "+name+")") {
			t.Errorf("%s does not run the README's command", step)
		}
	}
}

const (
	messageExample = "examples/sessions/leaky"
	messageTest    = "TestLogoutDropsTheSession"
)

// TestReadmeMessage compares the failure message in README.md with the output of the example.
// Durations and sizes are not compared: they vary with the machine and with the Go version.
func TestReadmeMessage(t *testing.T) {
	if !*update {
		require.Slow(t)
	}
	const begin, end = "<!-- message:begin -->\n```\n", "```\n<!-- message:end -->"
	readme := readFile(t, "README.md")
	head, rest, found := strings.Cut(readme, begin)
	shown, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("README.md has no code block between message:begin and message:end")
	}
	got := exampleMessage(t)
	if *update {
		replaceFile(t, filepath.Join(root, "README.md"), head+begin+got+end+tail)
		return
	}
	if want := withoutFigures(shown); withoutFigures(got) != want {
		t.Errorf("the message in README.md is not what %s prints:\n%sto renew it: go test ./internal/policy -run TestReadmeMessage -update",
			messageExample, lineDiff(want, withoutFigures(got)))
	}
}

// exampleMessage runs the example with plain "go test" and returns the message of its failed test.
func exampleMessage(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "test", "-count=1", "-run=^"+messageTest+"$", ".")
	cmd.Dir = filepath.Join(root, filepath.FromSlash(messageExample))
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(kv string) bool {
		return strings.HasPrefix(kv, "LEAKCHECK_") || strings.HasPrefix(kv, "LEAKGATE_")
	}), "GOWORK=off")
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the leak went unnoticed:\n%s", output)
	}
	_, message, found := strings.Cut(string(output), "--- FAIL: "+messageTest+" ")
	message, _, ended := strings.Cut(message, "\nFAIL\n")
	if !found || !ended {
		t.Fatalf("the test did not fail as expected:\n%s", output)
	}
	// Whether a twin had to be built depends on the cache.
	message = regexp.MustCompile("(?m)^.*built a twin.*\n").ReplaceAllString(message, "")
	return "--- FAIL: " + messageTest + " " + message + "\n"
}

var (
	durations = regexp.MustCompile(`\b\d[\d.]*(?:ns|µs|ms|s)\b`)
	sizes     = regexp.MustCompile(` *\b\d[\d.,]* (?:B|[KMG]iB)\b`)
)

func withoutFigures(message string) string {
	return sizes.ReplaceAllString(durations.ReplaceAllString(message, "<time>"), " <size>")
}
