package judges_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the figures to the table in "+document)

// document has the table between two marks.
const (
	document = "../../../doc/accuracy.md"
	begin    = "<!-- seeds -->\n"
	end      = "<!-- end -->"
)

// compared records the figures of a row of the table: what leakgate found, and what the other tool
// did. The table has to have the row. With -update its figures are replaced.
func compared(t *testing.T, what, ours, theirs string) {
	t.Helper()
	data, err := os.ReadFile(document)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok, "%s has no table of seeds", document)
	table, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the table of seeds in %s does not end", document)
	rows, found := strings.SplitAfter(table, "\n"), false
	for i, row := range rows {
		if strings.HasPrefix(row, "| "+what+" |") {
			rows[i], found = fmt.Sprintf("| %s | %s | %s |\n", what, ours, theirs), true
		}
	}
	require.True(t, found, "the table of seeds in %s has no row %q", document, what)
	t.Logf("%s: %s; the other tool: %s", what, ours, theirs)
	if *update {
		require.NoError(t, os.WriteFile(document, []byte(before+begin+strings.Join(rows, "")+end+after), 0o666))
	}
}

// tools is the folder of the programs that the tests build once.
var tools string

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if tools, err = os.MkdirTemp("", "seeds-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(tools)
	os.Exit(code)
}

// command is the path of the command leakgate.
var command = sync.OnceValues(func() (string, error) {
	path := filepath.Join(tools, "leakgate")
	out, err := exec.Command("go", "build", "-C", "../../..", "-o", path, "./cmd/leakgate").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// leakgate runs the command, and returns what it prints. The exit code has to be 0.
func leakgate(t *testing.T, args ...string) string {
	t.Helper()
	path, err := command()
	require.NoError(t, err)
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil && strings.Contains(string(out), "may not be looked into") {
		t.Skipf("ptrace is not permitted here: %s", out)
	}
	require.NoError(t, err, "%s", out)
	return string(out)
}
