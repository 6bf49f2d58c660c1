package goroutine_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/goroutine"
)

func TestParseGoroutines(t *testing.T) {
	got := goroutine.Parse(`goroutine 1 [chan receive, 2 minutes]:
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
	asleep := func(function, at string) []goroutine.Call {
		return []goroutine.Call{{Function: "time.Sleep", At: "/go/src/runtime/time.go:363"}, {Function: function, At: at}}
	}
	run, origin := "example.com/app.(*Pool[...]).run", goroutine.Origin{Entry: "example.com/app.(*Pool[...]).run", Started: "", CreatedBy: "example.com/app.New", CreatedAt: "/src/app/pool.go:22"}
	want := map[goroutine.Origin]goroutine.Pile{
		{Entry: "main.main"}:               {Count: 1, Frames: 2, State: "chan receive", Calls: []goroutine.Call{{Function: "testing.(*T).Run", At: "/go/src/testing/testing.go:2005"}, {Function: "main.main", At: "_testmain.go:47"}}, Outer: 2},
		{Entry: "example.com/app.clean"}:   {Count: 2, Frames: 4, State: "sleep", Calls: asleep("example.com/app.clean", "/src/app/clean.go:7"), Outer: 2, Sleep: 10 * time.Second},
		{Entry: "example.com/app.unknown"}: {Count: 1, Frames: 2, State: "sleep", Calls: asleep("example.com/app.unknown", "/src/app/clean.go:9"), Outer: 2},
		origin:                             {Count: 3, Frames: 3 + 2 + 17, State: "select", Calls: []goroutine.Call{{Function: run, At: "/src/app/pool.go:41"}}, Outer: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	for _, text := range []string{"", "\n", "goroutine", "goroutine 1 [", "goroutine 1 []:\n\n\n\tx\n", "created by"} {
		goroutine.Parse(text, nil) // must not panic
	}
}

func TestCountGoroutines(t *testing.T) {
	find := func() (n goroutine.Pile) {
		for origin, g := range goroutine.CountAll(func(string) bool { return false }) {
			if strings.HasSuffix(origin.CreatedBy, "goroutine_test.TestCountGoroutines") {
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
	if g.Count != 300 || via != "" || !strings.Contains(at.At, "pile_test.go:") || !strings.Contains(at.Function, "TestCountGoroutines") {
		t.Errorf("%+v", g)
	}
	close(stop)
}

func isProgram(pkg string) bool { return strings.HasPrefix(pkg, "example.com/") }

// only returns the one origin of a text, and its goroutines.
func only(t *testing.T, text string) (goroutine.Origin, goroutine.Pile) {
	t.Helper()
	found := goroutine.Parse(text, isProgram)
	assert.Len(t, found, 1)
	for o, g := range found {
		return o, g
	}
	return goroutine.Origin{}, goroutine.Pile{}
}

// An origin is the program's function that runs, whichever function of a library runs it, and the
// program's function that had a library's go statement reached.
func TestOrigins(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       goroutine.Origin
	}{
		{
			"a library's goroutine, and who had it made",
			"goroutine 9 [IO wait]:\nnet.read()\n\t/go/net.go:1\ncreated by net.dial in goroutine 7\n\t/go/net.go:2\n[originating from goroutine 7]:\nnet.dial(...)\n\t/go/net.go:2\nexample.com/app.connect(...)\n\t/src/app.go:3\n",
			goroutine.Origin{Entry: "net.read", CreatedBy: "net.dial", CreatedAt: "/go/net.go:2", Maker: "example.com/app.connect"},
		},
		{
			"the first ancestor is the go statement itself",
			"goroutine 9 [IO wait]:\nnet.read()\n\t/go/net.go:1\ncreated by net.dial in goroutine 7\n\t/go/net.go:2\n[originating from goroutine 7]:\nexample.com/app.inlined(...)\n\t/src/app.go:2\n",
			goroutine.Origin{Entry: "net.read", CreatedBy: "net.dial", CreatedAt: "/go/net.go:2"},
		},
		{
			"the program's go statement needs no maker",
			"goroutine 9 [IO wait]:\nnet.read()\n\t/go/net.go:1\ncreated by example.com/app.dial in goroutine 7\n\t/src/app.go:2\n[originating from goroutine 7]:\nexample.com/app.dial(...)\n\t/src/app.go:2\nexample.com/app.connect(...)\n\t/src/app.go:3\n",
			goroutine.Origin{Entry: "net.read", CreatedBy: "example.com/app.dial", CreatedAt: "/src/app.go:2"},
		},
		{
			"an errgroup's function",
			"goroutine 9 [select]:\nexample.com/app.work()\n\t/src/app.go:1\ngolang.org/x/sync/errgroup.(*Group).Go.func1()\n\t/mod/errgroup.go:7\ncreated by golang.org/x/sync/errgroup.(*Group).Go in goroutine 1\n\t/mod/errgroup.go:5\n",
			goroutine.Origin{Entry: "example.com/app.work", Started: "golang.org/x/sync/errgroup.(*Group).Go.func1", CreatedBy: "golang.org/x/sync/errgroup.(*Group).Go", CreatedAt: "/mod/errgroup.go:5"},
		},
		{
			"a coroutine that has not begun",
			"goroutine 9 [coroutine]:\nruntime.goexit({})\n\t/go/asm.s:1\ncreated by iter.Pull[...] in goroutine 1\n\t/go/iter.go:5\n",
			goroutine.Origin{Entry: "iter.Pull[...]", CreatedBy: "iter.Pull[...]", CreatedAt: "/go/iter.go:5"},
		},
		{
			"nobody knows who made it",
			"goroutine 9 [coroutine]:\nruntime.goexit({})\n\t/go/asm.s:1\n",
			goroutine.Origin{Entry: "runtime.goexit"},
		},
	} {
		o, g := only(t, tt.text)
		assert.Equal(t, tt.want, o, tt.name)
		assert.Equal(t, int64(1), g.Count, tt.name)
	}
	assert.Equal(t, "example.com/app.work", (&goroutine.Origin{Entry: "example.com/app.work"}).Start())
	assert.Equal(t, "sync.(*WaitGroup).Go.func1", (&goroutine.Origin{Entry: "example.com/app.work", Started: "sync.(*WaitGroup).Go.func1"}).Start())
}

// all makes a text of goroutines of one origin, each with its calls before example.com/app.run.
func all(stacks ...[]string) string {
	var text strings.Builder
	for _, calls := range stacks {
		text.WriteString("goroutine 9 [select]:\n")
		for _, f := range append(calls, "example.com/app.run") {
			text.WriteString(f + "()\n\t/src/app.go:1 +0x1\n")
		}
		text.WriteString("created by example.com/app.New in goroutine 1\n\t/src/app.go:5\n\n")
	}
	return text.String()
}

// The stack is that of most goroutines, whatever their order. Frames are those of all, and Outer
// says how many of the calls all have.
func TestUsualStack(t *testing.T) {
	deep, flat := []string{"example.com/app.f", "example.com/app.f"}, []string{"example.com/app.g"}
	for _, tt := range []struct {
		name      string
		stacks    [][]string
		innermost string
		frames    int64
		outer     int
		recursive string
	}{
		{"one", [][]string{deep}, "example.com/app.f", 3, 3, "example.com/app.f"},
		{"two of three, last", [][]string{deep, flat, flat}, "example.com/app.g", 7, 1, ""},
		{"two of three, first", [][]string{flat, flat, deep}, "example.com/app.g", 7, 1, ""},
		{"two of three, around", [][]string{deep, flat, deep}, "example.com/app.f", 8, 1, "example.com/app.f"},
		{"as many of each", [][]string{flat, deep}, "example.com/app.f", 5, 1, "example.com/app.f"},
		{"as many of each, the other way round", [][]string{deep, flat}, "example.com/app.f", 5, 1, "example.com/app.f"},
		{"a part is the same", [][]string{deep, deep, deep[1:]}, "example.com/app.f", 8, 2, "example.com/app.f"},
	} {
		_, g := only(t, all(tt.stacks...))
		assert.Equal(t, int64(len(tt.stacks)), g.Count, tt.name)
		assert.Equal(t, tt.innermost, g.Calls[0].Function, tt.name)
		assert.Equal(t, tt.frames, g.Frames, tt.name)
		assert.Equal(t, tt.outer, g.Outer, tt.name)
		assert.Equal(t, tt.recursive, g.Recursive(isProgram), tt.name)
	}
	_, g := only(t, all([]string{"fmt.f", "fmt.f"}))
	assert.Empty(t, g.Recursive(isProgram), "the library's recursion is not the program's")
}

// The ancestors are those of most goroutines: one that began before op was called is not what piles
// up.
func TestUsualAncestors(t *testing.T) {
	made := func(by string) string {
		return "goroutine 9 [select]:\nnet.read()\n\t/go/net.go:1\ncreated by net.dial in goroutine 7\n\t/go/net.go:2\n[originating from goroutine 7]:\nnet.dial(...)\n\t/go/net.go:2\n" + by + "(...)\n\t/go/x.go:3\n\n"
	}
	for _, text := range []string{
		made("net.init") + made("net.op") + made("net.op"),
		made("net.op") + made("net.op") + made("net.init"),
		made("net.other") + made("net.op"), // as many: the first by name
	} {
		_, g := only(t, text)
		assert.Equal(t, []goroutine.Call{{Function: "net.dial", At: "/go/net.go:2"}, {Function: "net.op", At: "/go/x.go:3"}}, g.Ancestors)
	}
}

// The place is the innermost call of the program or, without one, of what is not the runtime's.
func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name      string
		functions []string
		at, via   string
	}{
		{"the program waits in a library", []string{"internal/poll.read", "net.(*conn).Read", "example.com/app.serve"}, "example.com/app.serve", "net.(*conn).Read"},
		{"the program waits by itself", []string{"runtime.gopark", "example.com/app.serve", "example.com/app.main"}, "example.com/app.serve", ""},
		{"the program is where it waits", []string{"example.com/app.serve"}, "example.com/app.serve", ""},
		{"no program", []string{"internal/poll.read", "net.(*conn).Read", "bufio.fill"}, "net.(*conn).Read", ""},
		{"the runtime alone", []string{"runtime.gopark", "runtime.main"}, "", ""},
	} {
		var g goroutine.Pile
		for _, f := range tt.functions {
			g.Calls = append(g.Calls, goroutine.Call{Function: f})
		}
		at, via := g.Place(isProgram)
		assert.Equal(t, tt.at, at.Function, tt.name)
		assert.Equal(t, tt.via, via, tt.name)
		assert.Equal(t, strings.HasPrefix(tt.at, "example.com/"), g.HasProgram(isProgram), tt.name)
		assert.True(t, g.IsOn(tt.functions[0][:3]), tt.name)
		assert.False(t, g.IsOn("no/such"), tt.name)
	}
}
