package service_test

import (
	"bufio"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/capture/proof"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/service"
)

// Another process shows its heap, goroutines, timers and descriptors, and goes on.
func TestProcessOfService(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "service")
	out, err := exec.Command("go", "build", "-o", exe, "github.com/leakgate/leakgate/leakcheck/testdata/service").CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(exe)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	address, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	get := func(path string) {
		answer, err := http.Get("http://" + strings.TrimSpace(address) + path)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode)
	}

	p := service.New(cmd.Process.Pid, "")
	defer p.Close()
	type figures struct{ objects, goroutines, files, timers int64 }
	look := func() (f figures) {
		assert.True(t, p.AwaitIdle(func() bool { return false }))
		o, err := p.Observe(context.Background(), observe.Needs{Heap: true})
		if err != nil && strings.Contains(err.Error(), "may not be looked into") {
			t.Skip(err)
		}
		require.NoError(t, err)
		for _, n := range o.Report.Roots {
			if n.Name == "main.byID" {
				f.objects, _ = n.Total()
			}
		}
		for origin, g := range p.Goroutines(func(pkg string) bool { return pkg == "main" }) {
			if strings.HasPrefix(origin.CreatedBy, "main.") {
				f.goroutines += int64(g.Count)
			}
		}
		l, err := p.Resources("")
		require.NoError(t, err)
		for _, it := range l.Items {
			if it.Kind == ledger.Descriptor && strings.Contains(strings.Join(it.Names[:], " "), "/dev/null") {
				f.files++
			}
		}
		p.Timers(context.Background(), func(timer proof.Timer) {
			if timer.In > time.Minute {
				f.timers++
			}
		})
		return f
	}
	before := look()
	assert.Contains(t, p.String(), "(service)")
	assert.NotNil(t, p.Modules())
	for range 10 {
		get("/leak/map")
		get("/leak/goroutine")
		get("/leak/file")
	}
	after := look()
	assert.GreaterOrEqual(t, after.objects, before.objects+10)
	assert.Equal(t, figures{after.objects, before.goroutines + 10, before.files + 10, before.timers}, after)
	assert.Empty(t, p.Notes())
	get("/leak/map") // it goes on

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, err = p.Observe(context.Background(), observe.Needs{Heap: true})
	require.ErrorContains(t, err, "has ended")
}
