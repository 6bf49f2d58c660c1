//go:build amd64 || arm64

package leakcheck

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unique"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

// unseen lists the retainers at which a snapshot of this test shows nothing: those that have
// another name, and those that are filled by chance.
var unseen = []string{"runtime.allgs", "runtime.sched", "runtime.(timers).heap[*].timer", "net/http.DefaultTransport.connsPerHostWait"}

// Each retainer exists in the running Go version, and after normal use of the library it keeps what
// its reason says.
func TestRetainersExist(t *testing.T) {
	if testing.Short() {
		t.Skip("uses the network of this machine")
	}
	// This needs a process of its own: variables of other tests may hold the same objects.
	if alone := "LEAKCHECK_TEST_RETAINERS"; os.Getenv(alone) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRetainersExist$")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	transport := http.DefaultTransport.(*http.Transport)
	limit := transport.MaxConnsPerHost
	transport.MaxConnsPerHost = 1
	defer func() { transport.MaxConnsPerHost = limit; transport.CloseIdleConnections() }()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	resp, err := http.Get(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	for range 10 {
		os.Setenv("LEAKCHECK_TEST_SLOT", "x")
		os.Unsetenv("LEAKCHECK_TEST_SLOT")
	}
	handle := unique.Make(fmt.Sprint("handle ", os.Getpid()))
	defer runtime.KeepAlive(handle)
	_, _ = x509.SystemCertPool()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	_, _ = net.DefaultResolver.LookupHost(ctx, "leakcheck.invalid")
	cancel()
	_, _ = time.Now().Local().Zone()
	log.SetPrefix(log.Prefix())
	slog.Default().Enabled(t.Context(), slog.LevelInfo)
	for range 100 {
		go func() {}()
	}

	obs, err := observe.NewEngine().Observe(t.Context(), observe.Needs{Heap: true})
	if err != nil {
		t.Fatal(err)
	}
	env := environ.CurrentEnvironment()
	seen := map[string]tree.Tally{}
	tree.GrowForest(obs.Report).All(func(b *tree.Branch) bool {
		if r := tree.RetainerOf(env, b); r != nil {
			seen[r.Path] = seen[r.Path].Plus(b.Own())
		}
		return true
	})
	for _, r := range tree.Retainers {
		if !tree.InVersions(env, r.Since, r.Until) || r.Path == symbol.TinyGaps || r.Path == tree.CompilerCache {
			continue
		}
		variable, field, _ := strings.Cut(r.Path, "DefaultTransport.")
		if _, ok := reflect.TypeFor[http.Transport]().FieldByName(field); field != "" && !ok {
			t.Errorf("%s: an http.Transport has no such field", r.Path)
		}
		if field != "" {
			variable += "DefaultTransport"
		}
		// the engine's name for what the lists hold, and a function
		isVariable := !strings.HasPrefix(r.Path, "runtime.(timers)") && r.Path != "runtime.gcBgMarkWorker"
		if isVariable && !obs.Names.KnownRoot(func(name string) bool { return name == variable }) {
			t.Errorf("%s: the program has no such variable", r.Path)
		}
		if seen[r.Path] == (tree.Tally{}) && !slices.Contains(unseen, r.Path) {
			t.Errorf("%s: nothing was seen there", r.Path)
		}
	}
}
