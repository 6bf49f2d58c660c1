//go:build amd64 || arm64

package snapshot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

const settingVariable = "LEAKGATE_TEST_SETTING"

// A setting that replaces the allocator makes a snapshot unavailable; with some such settings the
// first garbage collection would end the process.
func TestSettings(t *testing.T) {
	for _, setting := range []string{"sbrk=1", "efence=1"} {
		out, err := underSetting(t, setting)
		// With sbrk=1 the runtime itself may wait for ever before it runs any of the program
		// (go1.27.3 runtime.gcenable, seen once).
		for try := 0; try < 3 && err != nil && !bytes.Contains(out, []byte(started)); try++ {
			out, err = underSetting(t, setting)
		}
		assert.NoError(t, err, "%s: %s", setting, out)
	}
	for settings, want := range map[string]bool{
		"":                    false,
		"sbrk=1":              true,
		"gctrace=1,sbrk=1":    true,
		"sbrk=0":              false,
		"sbrk=1,sbrk=0":       false,
		"sbrk=0,sbrk=2,a=0":   true,
		"sbrk=1,sbrk=nothing": true,
		"nosbrk=1,sbrk":       false,
	} {
		assert.Equal(t, want, debugSetting(settings, "sbrk"), settings)
	}
}

// started is the first line that TestUnderSetting prints.
const started = "the test has begun"

// underSetting runs TestUnderSetting in a process of its own, for 20 seconds at most.
func underSetting(t *testing.T, setting string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestUnderSetting$")
	cmd.Env = append(os.Environ(), settingVariable+"="+setting, "GODEBUG="+setting)
	return cmd.CombinedOutput()
}

// TestUnderSetting is the test that TestSettings runs in another process.
func TestUnderSetting(t *testing.T) {
	setting := os.Getenv(settingVariable)
	if setting == "" {
		return
	}
	fmt.Println(started)
	_, captured := Capture(Default())
	for _, err := range []error{captured, Collect(context.Background())} {
		var unavailable *Unavailable
		require.True(t, errors.As(err, &unavailable), "%v", err)
		require.Contains(t, unavailable.Cause, "GODEBUG="+setting)
		require.NotEmpty(t, unavailable.Remedy)
	}
}
