package refscan_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/pproftest"
	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

func TestTimerFigures(t *testing.T) {
	defer stopHidden()
	for range 4 {
		hideLiteral(time.Hour)
	}
	s, err := refscan.Capture(refscan.WithLog(t.Logf))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	r, err := s.Scan(refscan.WithRetained())
	require.NoError(t, err)
	name := "timer(" + pkg + "hideLiteral.func1)"
	n := timerRoot(t, r, name)
	require.NotNil(t, n)
	objects, size := n.Total()
	require.EqualValues(t, 4*4, objects, "timer, function, cargo and its data")
	require.Equal(t, objects, n.RetainedObjects, "the runtime's heap of timers does not count")
	require.Equal(t, size, n.RetainedBytes)

	var buf bytes.Buffer
	require.NoError(t, r.WriteProfile(&buf))
	p, err := pproftest.Parse(&buf)
	require.NoError(t, err)
	var inProfile int64
	for _, sample := range p.Sample {
		if sample.Location[len(sample.Location)-1].Line[0].Function.Name == strings.ReplaceAll(name, ".", "·") {
			inProfile += sample.Value[0]
		}
	}
	require.Equal(t, objects, inProfile)

	data, err := json.Marshal(n.Root)
	require.NoError(t, err)
	var back refscan.RootInfo
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, *n.Root, back)
	require.EqualValues(t, 4, back.Timers)
}

func TestPathsThroughTimers(t *testing.T) {
	defer stopHidden()
	defer func() { gTimerFunc = nil }()
	at := armBoth()
	_, got := pathsTo(t, at, refscan.PathQuery{Limit: 5})
	require.Equal(t, []string{"gTimerFunc.timer.arg.p", "timer(" + pkg + "armBoth.func1).$fn.p"}, got)
	gTimerFunc = nil
	r, got := pathsTo(t, at, refscan.PathQuery{Limit: 5})
	require.Equal(t, []string{"timer(" + pkg + "armBoth.func1).$fn.p"}, got)
	require.EqualValues(t, 1, r.Paths[0].Root.Timers)
	require.Positive(t, r.Paths[0].Root.DueFirst)
	require.Equal(t, refscan.RootTimer, r.Paths[0].Root.Kind)
}

//go:noinline
func armBoth() uintptr {
	p := newCargo()
	gTimerFunc = time.AfterFunc(time.Hour, func() { use(p) })
	hide(gTimerFunc)
	return addressOf(p)
}
