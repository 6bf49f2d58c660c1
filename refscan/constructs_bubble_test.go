//go:build go1.25

package refscan_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
	"github.com/leakgate/leakgate/refscan"
)

func TestTimersInBubble(t *testing.T) {
	ready, scanned := make(chan bool), make(chan *refscan.Report)
	go func() {
		<-ready
		s, err := refscan.Capture(refscan.WithLog(t.Logf), refscan.WithoutSettling())
		if err != nil {
			t.Error(err)
			close(scanned)
			return
		}
		r, err := s.Scan()
		if err != nil {
			t.Error(err)
		}
		_ = s.Close()
		scanned <- r
	}()
	var r *refscan.Report
	synctest.Test(t, func(*testing.T) {
		held := time.AfterFunc(time.Hour, (&lease{newCargo()}).expire)
		forgetCancel(contextOf(newCargo()), time.Minute)
		ready <- true // channels made outside the bubble: its clock does not advance
		r = <-scanned
		held.Stop()
		time.Sleep(time.Hour)
	})
	require.NotNil(t, r)
	sound(t, r)
	n := timerRoot(t, r, "timer(context.WithTimeout)")
	require.NotNil(t, n)
	require.EqualValues(t, 1, n.Root.Timers)
	require.Zero(t, n.Root.DueFirst, "the clock of a bubble is its own")
	require.Zero(t, n.Root.DueLast)
	require.Nil(t, timerRoot(t, r, "timer("+pkg+"(*lease).expire)"), "the test's frame has it")
}
