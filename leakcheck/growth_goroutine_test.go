package leakcheck

import (
	"maps"
	"strings"
	"testing"
)

func TestParseGoroutines(t *testing.T) {
	got := parseGoroutines(`goroutine 1 [chan receive, 2 minutes]:
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

goroutine 9 [running]:
	goroutine running on other thread; stack unavailable
created by example.com/app.New in goroutine 1
	/src/app/pool.go:22 +0x4f
`)
	want := map[goroutineOrigin]goroutines{
		{entry: "main.main"}: {1, "chan receive", "testing.(*T).Run", "/go/src/testing/testing.go:2005"},
		{"example.com/app.(*Pool[...]).run", "example.com/app.New", "/src/app/pool.go:22"}: {
			2, "select", "example.com/app.(*Pool[...]).run", "/src/app/pool.go:41",
		},
	}
	if !maps.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, text := range []string{"", "\n", "goroutine", "goroutine 1 [", "goroutine 1 []:\n\n\n\tx\n", "created by"} {
		parseGoroutines(text) // must not panic
	}
}

func TestCountGoroutines(t *testing.T) {
	find := func() (n goroutines) {
		for origin, g := range countGoroutines() {
			if strings.HasSuffix(origin.createdBy, "leakcheck.TestCountGoroutines") {
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
	if g.count != 300 || !strings.Contains(g.at, "growth_goroutine_test.go:") || !strings.Contains(g.where, "TestCountGoroutines") {
		t.Errorf("%+v", g)
	}
	close(stop)
}
