package request_test

//lint:file-ignore U1000 the size of a type counts

import (
	"context"
	"reflect"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/ledger"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/request"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
)

type session struct{ buf []byte }

func ref(n int64) *int64 { return &n }

// problems returns what is wrong with a request that some options make.
func problems(options ...func(r *request.Request)) []string {
	r := &request.Request{}
	for _, o := range options {
		o(r)
	}
	r.Check()
	return r.Problems
}

func limit(b request.Bound) func(r *request.Request) {
	return func(r *request.Request) { r.Limit(b) }
}

func ofGoroutines(o request.GoroutineOption) func(r *request.Request) {
	return func(r *request.Request) { r.LimitGoroutines(o) }
}

func root(text string) request.Selector { return request.RootSelector(text) }

// Options that make no sense, alone or beside others, are problems, which quote them.
func TestProblems(t *testing.T) {
	app := root("app.sessions")
	ofApp := request.NewGoroutineSelector("Goroutines", "app.run")
	for want, options := range map[string][]func(r *request.Request){
		`a zero Bound: start with Root`:                             {limit(request.Bound{})},
		`Root(""): the pattern is empty`:                            {limit(request.Bound{Selector: root(""), None: true})},
		`Root("app.sessions").MaxObjects(-1): a bound cannot be`:    {limit(request.Bound{Selector: app, MaxObjects: ref(-1)})},
		`Root("app.sessions").MaxBytes(-1): a bound cannot be`:      {limit(request.Bound{Selector: app, MaxBytes: ref(-1)})},
		`Root("app.sessions").MaxRetainedObjects(-2): a bound`:      {limit(request.Bound{Selector: app, Cut: request.CutLimits{Objects: ref(-2)}})},
		`Root("app.sessions").WithNative(): WithNative is for`:      {limit(request.Bound{Selector: app, Cut: request.CutLimits{Native: true}})},
		`Root("app.sessions"): has neither MaxObjects nor MaxBytes`: {limit(request.Bound{Selector: app})},
		`error is an interface`:                                     {limit(request.Bound{Selector: request.TypeSelector(reflect.TypeFor[error]()), MaxObjects: ref(1)})},
		`a zero GoroutineSelector`:                                  {ofGoroutines(request.GoroutineOption{})},
		`Goroutines("app.run").Max(-1): a bound cannot be negative`: {ofGoroutines(request.GoroutineOption{GoroutineSelector: ofApp, Written: `Goroutines("app.run").Max(-1)`, Limit: -1})},
		`Stack(""): the pattern is empty`:                           {ofGoroutines(request.GoroutineOption{GoroutineSelector: request.NewGoroutineSelector("Stack", "")})},
		`a zero ResourceSelector`:                                   {func(r *request.Request) { r.LimitResources(request.ResourceOption{}) }},
		`Files().Max(-1): a bound cannot be negative`: {func(r *request.Request) {
			r.LimitResources(request.ResourceOption{Shown: "Files()", Written: "Files().Max(-1)", Limit: -1})
		}},
		`Scope() names no package`:                                              {func(r *request.Request) { r.Narrow(nil) }},
		`Scope(""): `:                                                           {func(r *request.Request) { r.Narrow([]string{""}) }},
		`Ignore("app.x"): the reason is empty`:                                  {func(r *request.Request) { r.Ignore("app.x", "") }},
		`Ignore(""): the pattern is empty`:                                      {func(r *request.Request) { r.Ignore("", "why") }},
		`Golden(""): the name is empty`:                                         {func(r *request.Request) { r.CompareWith("") }},
		`Golden("b") beside Golden("a")`:                                        {func(r *request.Request) { r.CompareWith("a") }, func(r *request.Request) { r.CompareWith("b") }},
		`Golden("a") beside a bound`:                                            {func(r *request.Request) { r.CompareWith("a") }, limit(request.Bound{Selector: app, MaxObjects: ref(1)})},
		`Root("app.sessions").RetainedRecorded() beside a bound`:                {func(r *request.Request) { r.Record(app) }, limit(request.Bound{Selector: app, MaxObjects: ref(1)})},
		`NativeMemory().Recorded() beside a bound`:                              {func(r *request.Request) { r.Native = true }, limit(request.Bound{Selector: app, MaxObjects: ref(1)})},
		`Since: the baseline is of PID 7, and the assertion about this process`: {func(r *request.Request) { r.Baseline = &request.Baseline{Of: "PID 7"} }},
		`Since: the baseline is of this process, and the assertion about PID 7`: {func(r *request.Request) { r.Baseline = &request.Baseline{}; r.LookInto(process{}, nil) }},
		`InProcess: no such process`:                                            {func(r *request.Request) { r.LookInto(process{}, errNone) }},
		`InProcess is given twice`:                                              {func(r *request.Request) { r.LookInto(process{}, nil); r.LookInto(process{}, nil) }},
		`types of this test are not those of PID 7`:                             {inProcess, limit(request.Bound{Selector: request.TypeSelector(reflect.TypeFor[*session]()), MaxObjects: ref(1)})},
		`leave out WithNative`:                                                  {inProcess, limit(request.Bound{Selector: app, Cut: request.CutLimits{Objects: ref(1), Native: true}})},
		`NativeMemory().Recorded(): what holds blocks`:                          {inProcess, func(r *request.Request) { r.Native = true }},
		`Scope: which packages PID 7 has is not known`:                          {inProcess, func(r *request.Request) { r.Unscoped = true; r.Narrow([]string{"example.com/app"}) }},
	} {
		got := problems(options...)
		require.Len(t, got, 1, want)
		assert.Contains(t, got[0], want)
	}
	assert.Empty(t, problems(limit(request.Bound{Selector: app, MaxObjects: ref(0)}), ofGoroutines(request.GoroutineOption{GoroutineSelector: ofApp}), inProcess))
}

type notFound struct{}

func (notFound) Error() string { return "no such process" }

var errNone = notFound{}

func inProcess(r *request.Request) { r.LookInto(process{}, nil) }

// A process is another process that is not looked into.
type process struct{ closed *bool }

func (process) String() string             { return "PID 7" }
func (process) Open(context.Context) error { return nil }
func (p process) Close()                   { *p.closed = true }
func (process) Modules() *symbol.Modules   { return nil }

func (process) Observe(context.Context, observe.Needs) (*observe.Observation, error) { return nil, nil }

func (process) Resources(string) (*ledger.Ledger, error) { return nil, nil }

func (process) Malloc() (*nativeheap.Heap, error) { return nil, nil }

// Bounds read as they are written, and what the options ask for follows from them.
func TestBounds(t *testing.T) {
	b := request.Bound{Selector: request.PathSelector("app.srv.conns"), MaxObjects: ref(3), MaxBytes: ref(4), Cut: request.CutLimits{Objects: ref(5), Bytes: ref(6), Native: true}}
	assert.Equal(t, `Path("app.srv.conns").MaxObjects(3).MaxBytes(4).MaxRetainedObjects(5).MaxRetainedBytes(6).WithNative()`, b.String())
	b = request.Bound{Selector: request.TypeSelector(reflect.TypeFor[*session]()), None: true, MaxObjects: ref(0)}
	assert.Equal(t, "Type[*request_test.session]().None()", b.String())
	b.MaxBytes = ref(10)
	for _, c := range []struct {
		objects, bytes int64
		broken         bool
	}{{0, 0, false}, {0, 10, false}, {1, 0, true}, {0, 11, true}} {
		assert.Equal(t, c.broken, b.Broken(c.objects, c.bytes))
	}

	closed := false
	r := &request.Request{}
	assert.False(t, r.Bounded())
	assert.True(t, r.NeedsHeap(), "for the golden file")
	r.LimitGoroutines(request.GoroutineOption{GoroutineSelector: request.NewGoroutineSelector("Goroutines", "app.run"), Check: request.RecordCount})
	assert.True(t, r.Goroutines[0].Recorded())
	assert.False(t, r.Bounded())
	r.LimitGoroutines(request.GoroutineOption{GoroutineSelector: request.NewGoroutineSelector("Goroutines", "app.run")})
	assert.True(t, r.Bounded())
	assert.False(t, r.NeedsHeap())
	r.Limit(b)
	assert.True(t, r.NeedsHeap())
	r.Close()
	r.LookInto(process{&closed}, nil)
	r.Close()
	assert.True(t, closed)
	env := &environ.Environment{}
	assert.Equal(t, tree.Scope{}, request.ScopeOf(r, env))
	assert.True(t, request.ScopeOf(&request.Request{}, env).SkipTests, "for a golden file")
}
