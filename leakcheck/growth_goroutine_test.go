package leakcheck

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/leakcheck/internal/growth/pile"
)

func TestParseGoroutines(t *testing.T) {
	got := pile.Parse(`goroutine 1 [chan receive, 2 minutes]:
testing.(*T).Run(0x3a1c2e, {0x5f, 0x8}, 0x6c)
	/go/src/testing/testing.go:2005 +0x485
main.main()
	_testmain.go:47 +0x9b

goroutine 7 [sync.Mutex.Lock, locked to thread]:
internal/sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)
	/go/src/runtime/sema.go:95 +0x25
sync.(*Mutex).Lock(...)
	/go/src/sync/mutex.go:46
example.com/app.(*Pool[...]).run(0xc0001, {0xc0002, 0x1})
	/src/app/pool.go:40 +0x1d
created by example.com/app.New in goroutine 1
	/src/app/pool.go:22 +0x4f

goroutine 8 [select]:
example.com/app.(*Pool[...]).run(0xc0003, {0xc0004, 0x1})
	/src/app/pool.go:41 +0x1d
...17 frames elided...
created by example.com/app.New in goroutine 1
	/src/app/pool.go:22 +0x4f

goroutine 9 [select, 3 minutes]:
example.com/app.(*Pool[...]).run(0xc0005, {0xc0006, 0x1})
	/src/app/pool.go:41 +0x1d
created by example.com/app.New in goroutine 1
	/src/app/pool.go:22 +0x4f

goroutine 11 [sleep]:
time.Sleep(0x2540be400)
	/go/src/runtime/time.go:363 +0x165
example.com/app.clean()
	/src/app/clean.go:7 +0x1d

goroutine 12 [sleep, 2 minutes]:
time.Sleep(0x3b9aca00)
	/go/src/runtime/time.go:363 +0x165
example.com/app.clean()
	/src/app/clean.go:7 +0x1d

goroutine 13 [sleep]:
time.Sleep(0x2540be400?)
	/go/src/runtime/time.go:363 +0x165
example.com/app.unknown()
	/src/app/clean.go:9 +0x1d

goroutine 10 [running]:
	goroutine running on other thread; stack unavailable
created by example.com/app.New in goroutine 1
	/src/app/pool.go:22 +0x4f
`, func(pkg string) bool { return strings.Contains(pkg, ".") })
	asleep := func(function, at string) []pile.Call {
		return []pile.Call{{Function: "time.Sleep", At: "/go/src/runtime/time.go:363"}, {Function: function, At: at}}
	}
	run, origin := "example.com/app.(*Pool[...]).run", pile.Origin{Entry: "example.com/app.(*Pool[...]).run", Started: "", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/pool.go:22"}
	want := map[pile.Origin]pile.Goroutines{
		{Entry: "main.main"}:               {Count: 1, Frames: 2, State: "chan receive", Calls: []pile.Call{{Function: "testing.(*T).Run", At: "/go/src/testing/testing.go:2005"}, {Function: "main.main", At: "_testmain.go:47"}}, Outer: 2},
		{Entry: "example.com/app.clean"}:   {Count: 2, Frames: 4, State: "sleep", Calls: asleep("example.com/app.clean", "/src/app/clean.go:7"), Outer: 2, Sleep: 10 * time.Second},
		{Entry: "example.com/app.unknown"}: {Count: 1, Frames: 2, State: "sleep", Calls: asleep("example.com/app.unknown", "/src/app/clean.go:9"), Outer: 2},
		origin:                             {Count: 3, Frames: 3 + 2 + 17, State: "select", Calls: []pile.Call{{Function: run, At: "/src/app/pool.go:41"}}, Outer: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, text := range []string{"", "\n", "goroutine", "goroutine 1 [", "goroutine 1 []:\n\n\n\tx\n", "created by"} {
		pile.Parse(text, nil) // must not panic
	}
}

func TestCountGoroutines(t *testing.T) {
	find := func() (n pile.Goroutines) {
		for origin, g := range pile.CountAll(func(string) bool { return false }) {
			if strings.HasSuffix(origin.CreatedBy, "leakcheck.TestCountGoroutines") {
				n = g
			}
		}
		return n
	}
	stop := make(chan bool)
	started := make(chan bool)
	for range 300 { // more than fit into the first buffer
		go func() {
			started <- true
			<-stop
		}()
		<-started
	}
	g := find()
	at, via := g.Place(func(string) bool { return false })
	if g.Count != 300 || via != "" || !strings.Contains(at.At, "growth_goroutine_test.go:") || !strings.Contains(at.Function, "TestCountGoroutines") {
		t.Errorf("%+v", g)
	}
	close(stop)
}

// Goroutines that cannot be counted may pile up, so there is no pass.
func TestGoroutinesUncounted(t *testing.T) {
	counted := map[pile.Origin]pile.Goroutines{}
	for _, tt := range []struct {
		name     string
		sessions []int64
		at       []map[pile.Origin]pile.Goroutines
		want     string // in the failure
		logs     string
	}{
		{"at all", []int64{7}, []map[pile.Origin]pile.Goroutines{nil}, "UNKNOWN", ""},
		{"at the last snapshot", []int64{7}, []map[pile.Origin]pile.Goroutines{counted, nil}, "whether goroutines pile up is not known", ""},
		{"where something else grows", []int64{10, 20, 40, 80, 160}, []map[pile.Origin]pile.Goroutines{nil}, "+1.00 *app.Session/op", "goroutines were not counted: their stack traces are more than 64 MiB of text"},
		{"never", []int64{7}, []map[pile.Origin]pile.Goroutines{counted}, "", ""},
	} {
		w := newWorld(t, growing(sessions, tt.sessions...)...)
		w.env.Strict = true
		ft, ok, _ := w.growth(tt.at, tenAndTen...)
		if ok != (tt.want == "") || !strings.Contains(ft.errorText(), tt.want) || !ft.logged(tt.logs) {
			t.Errorf("%s: want %q and %q, passed is %v\n%s\n%s", tt.name, tt.want, tt.logs, ok, ft.errorText(), ft.logs)
		}
	}
}
