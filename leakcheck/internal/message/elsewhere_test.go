package message_test

import (
	"testing"

	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/leakcheck/internal/environ"
	"github.com/leakgate/leakgate/leakcheck/internal/message"
	"github.com/leakgate/leakgate/leakcheck/internal/observe"
	"github.com/leakgate/leakgate/leakcheck/internal/tree"
	"github.com/leakgate/leakgate/refscan"
)

// One call of cancel takes a context from its parent and stops its timer, so nothing else has to be
// cut. That is not so for a map.
func TestOneCallCutsBoth(t *testing.T) {
	end := func(root *refscan.Node) []*tree.Branch {
		return message.Deepest(tree.GrowForest(report(root))[0]).Line()
	}
	timer := node("timer(context.WithTimeout)", "", 0, 0, node("$fn", "func context.WithDeadlineCause.func2", 1, 32, node("c", "*context.timerCtx", 1, 112)))
	timer.Root = &refscan.RootInfo{Kind: refscan.RootTimer, Package: "context"}
	children := global(node("example.com/app.ctx", "*context.cancelCtx", 1, 80,
		node("children", "map[context.canceler]struct {}", 1, 64, node("$mapkey", "*context.timerCtx", 9, 999, node("timer", "*time.Timer", 9, 999)))), "", 0)
	handlers := global(node("os/signal.handlers", "struct {}", 0, 0, node("m", "map", 1, 8, node("$mapkey", "chan os.Signal", 1, 99))), "", 0)
	notified := frame(node("os/signal.NotifyContext.func1.c", "*os/signal.signalCtx", 1, 99, node("ch", "chan os.Signal", 1, 99)), refscan.RootInfo{Func: "os/signal.NotifyContext.func1"})
	for _, tt := range []struct {
		a, b *refscan.Node
		want bool
	}{
		{children, timer, true},
		{timer, children, true},
		{handlers, notified, true},
		{sessions(3), timer, false},
		{sessions(3), sessions(3), false},
		{timer, notified, false},
	} {
		if got := message.OneCall(end(tt.a), end(tt.b)); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a.Name, tt.b.Name, got)
		}
	}
}

// What else holds a quarter of the objects at which a trace spreads is said, with examples.
func TestAlsoHeldBy(t *testing.T) {
	root := tree.GrowForest(report(sessions(100)))[0]
	tr := tree.TraceTo(root.Children[0], false, tree.ObjectsOf)
	assert.Equal(t, []observe.Place{{Path: "example.com/app.sessions[*]", Typ: "*example.com/app.Session"}}, message.PlacesOf([]*tree.Trace{tr, tree.TraceTo(root, false, tree.ObjectsOf)}))
	other := global(node("example.com/app.visitors", "map[int]*example.com/app.Session", 1, 8, node("[*]", "*example.com/app.Session", 9, 9)), "/src/app/visitors.go", 5)
	lone := global(node("example.com/app.visitor", "*example.com/app.Session", 1, 8), "", 0)
	same := global(node("example.com/app.sessions", "", 1, 8, node("old", "*example.com/app.Session", 9, 9)), "", 0)
	runtimes := node("runtime.specials", "", 1, 8)
	runtimes.Root = &refscan.RootInfo{Kind: refscan.RootOther, Package: "runtime"}
	own := global(node("github.com/leakgate/leakgate/leakcheck.kept", "", 1, 8), "", 0)
	cut := "cutting that is not enough, "
	for _, tt := range []struct {
		name string
		held *refscan.Elsewhere
		want []string
	}{
		{"nothing", nil, nil},
		{"examples", &refscan.Elsewhere{Examples: "{id: 1}"}, []string{"for example *app.Session {id: 1}"}},
		{"a part", &refscan.Elsewhere{Objects: 25, Holder: other}, []string{"", cut + "25 of the 100 objects are also held by the package variable example.com/app.visitors (visitors.go:5)", "   at example.com/app.visitors[*]"}},
		{"all", &refscan.Elsewhere{Objects: 100, Holder: lone}, []string{"", cut + "all 100 objects are also held by the package variable example.com/app.visitor"}},
		{"the same root", &refscan.Elsewhere{Objects: 100, Holder: same}, []string{"", cut + "all 100 objects are also held by the same root on another path", "   at example.com/app.sessions.old"}},
		{"few", &refscan.Elsewhere{Objects: 24, Holder: other}, nil},
		{"the runtime's record", &refscan.Elsewhere{Objects: 100, Holder: runtimes}, nil},
		{"the tool's own", &refscan.Elsewhere{Objects: 100, Holder: own}, nil},
	} {
		obs := &observe.Observation{AlsoHeld: map[observe.Place]*refscan.Elsewhere{message.PlacesOf([]*tree.Trace{tr})[0]: tt.held}}
		assert.Equal(t, tt.want, message.AlsoHeldBy(tr, obs, env), tt.name)
	}
	obs := &observe.Observation{AlsoHeld: map[observe.Place]*refscan.Elsewhere{message.PlacesOf([]*tree.Trace{tr})[0]: {Examples: "{id: 1}"}}}
	assert.Empty(t, message.AlsoHeldBy(tr, obs, &environ.Environment{NoExamples: true}))
	holder, _, _ := message.SecondHolder(tree.TraceTo(root, false, tree.ObjectsOf), obs)
	assert.Nil(t, holder, "the trace spreads nowhere")
	one := tree.GrowForest(report(sessions(1)))[0]
	tr = tree.TraceTo(one.Children[0], false, tree.ObjectsOf)
	obs.AlsoHeld = map[observe.Place]*refscan.Elsewhere{message.PlacesOf([]*tree.Trace{tr})[0]: {Objects: 1, Holder: lone}}
	assert.Contains(t, message.AlsoHeldBy(tr, obs, env)[1], cut+"it is also held by")
}
