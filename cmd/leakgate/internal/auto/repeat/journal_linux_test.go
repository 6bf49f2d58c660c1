package repeat

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A journal on a full disk ends the process with an exit code of its own: nothing later could be
// reported.
func TestJournalOnFullDisk(t *testing.T) {
	if os.Getenv("FULL") != "" {
		j, err := openJournal("/dev/full")
		require.NoError(t, err)
		j.write(Event{Event: "begin"})
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestJournalOnFullDisk$")
	cmd.Env = append(os.Environ(), "FULL=1")
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, ExitJournal, cmd.ProcessState.ExitCode(), "%s", out)
	require.Contains(t, string(out), "no space left on device")
}
