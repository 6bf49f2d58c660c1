package spikerule

import (
	"math"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/testkit/require"
)

const mib = 1 << 20

func TestParse(t *testing.T) {
	for text, want := range map[string]Threshold{
		"20%": {Share: 0.2}, "+20%": {Share: 0.2}, "150%": {Share: 1.5}, "0.5%": {Share: 0.005},
		"+64MiB": {Bytes: 64 * mib}, "64MiB": {Bytes: 64 * mib}, "1.5GiB": {Bytes: 3 << 29}, "+3MB": {Bytes: 3e6}, "10B": {Bytes: 10},
		"20%,+64MiB": {Share: 0.2, Bytes: 64 * mib}, "64MiB, 20%": {Share: 0.2, Bytes: 64 * mib},
	} {
		got, err := Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
		_, err = Parse(got.String())
		require.NoError(t, err, "%s", got)
	}
	for _, text := range []string{"", "20", "%", "-20%", "0%", "NaN%", "Inf%", "MiB", "-1MiB", "0B", "20%,30%", "1MiB,2MiB", "20%,", "9e30GiB", "64 apples"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func TestThreshold(t *testing.T) {
	require.Equal(t, int64(120*mib), Threshold{Share: 0.2}.Limit(100*mib))
	require.Equal(t, int64(164*mib), Threshold{Bytes: 64 * mib}.Limit(100*mib))
	require.Equal(t, int64(164*mib), Threshold{Share: 0.2, Bytes: 64 * mib}.Limit(100*mib), "both are exceeded")
	require.Equal(t, int64(1200*mib), Threshold{Share: 0.2, Bytes: 64 * mib}.Limit(1000*mib), "both are exceeded")
	require.Equal(t, int64(2*mib), Threshold{Share: 0.2}.Limit(mib), "never less than Least")
	require.Positive(t, Threshold{Share: 1e300, Bytes: math.MaxInt64}.Limit(math.MaxInt64))
	for _, bad := range []Threshold{{}, {Share: -1}, {Bytes: -1}, {Share: math.NaN()}, {Share: math.Inf(1)}} {
		require.Error(t, bad.Check(), "%+v", bad)
	}
	require.NoError(t, Threshold{Bytes: 1}.Check())
}

// A jump is reported once, until it ends or there is a jump above what was seen.
func TestDetector(t *testing.T) {
	d := &detector{threshold: Threshold{Share: 0.2}}
	observe := func(live int64, want bool) {
		t.Helper()
		_, jumped := d.Ended(live * mib)
		require.Equal(t, want, jumped, "%d", live)
	}
	observe(100, false)
	observe(900, false) // before it is known what is usual
	observe(100, false)
	require.True(t, d.Ready())
	observe(119, false)
	observe(150, true)
	observe(150, true) // Seen was not called for it
	d.Seen(150 * mib)
	observe(160, false)
	observe(200, true)
	d.Seen(200 * mib)
	observe(205, false)
	observe(100, false)
	observe(100, false)
	require.Equal(t, int64(150*mib), d.Usual(), "of the last nine")
	observe(300, true)
}

// A jump that stays is usual before long.
func TestStays(t *testing.T) {
	d := &detector{threshold: Threshold{Bytes: 10 * mib}}
	for range 2 * Window {
		d.Ended(50 * mib)
	}
	jumps := 0
	for range 2 * Window {
		if _, jumped := d.Ended(100 * mib); jumped {
			jumps++
		}
	}
	require.Equal(t, Window/2+1, jumps)
	require.Equal(t, int64(100*mib), d.Usual())
}

func TestLimiter(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := limiter{interval: time.Minute, perDay: 3}
	for _, step := range []struct {
		after time.Duration
		want  bool
	}{
		{0, true},
		{time.Second, false},
		{59 * time.Second, true}, // of the first
		{time.Hour, true},
		{time.Hour, false}, // the fourth in a day
		{22 * time.Hour, true},
		{time.Second, false},
	} {
		at = at.Add(step.after)
		require.Equal(t, step.want, l.allow(at), "%v", at)
	}
}

func TestJudge(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := NewJudge(Threshold{Bytes: 50 * mib}, time.Hour, 10)
	for i, step := range []struct {
		live int64
		want Judgement
	}{
		{100, Judgement{Usual: 0, Limit: 50}},
		{100, Judgement{Usual: 100, Limit: 150}},
		{100, Judgement{Usual: 100, Limit: 150, Calm: true}},
		{200, Judgement{Usual: 100, Limit: 150, Spike: true, Sudden: true}},
		{200, Judgement{Usual: 100, Limit: 150}}, // it is known
		{100, Judgement{Usual: 100, Limit: 150, Calm: true}},
		{200, Judgement{Usual: 100, Limit: 150}}, // within the hour
		{100, Judgement{Usual: 100, Limit: 150, Calm: true}},
		{200, Judgement{Usual: 100, Limit: 150, Spike: true, Sudden: true, LeftOut: 1}},
	} {
		if i == 8 {
			at = at.Add(time.Hour)
		}
		step.want.Usual, step.want.Limit = step.want.Usual*mib, step.want.Limit*mib
		require.Equal(t, step.want, j.Ended(uint64(i+1), step.live*mib, true, at), "%d", i)
	}
}

// A jump that may be garbage is examined once in a while, and does not count if it was garbage.
func TestJudgeUncertain(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	j := NewJudge(Threshold{Bytes: 50 * mib}, time.Hour, 1)
	for range Learned {
		j.Ended(1, 100*mib, true, at)
	}
	require.True(t, j.Ended(1, 200*mib, false, at).Spike)
	j.Nothing(at)
	require.False(t, j.Ended(1, 200*mib, false, at.Add(patience-1)).Spike, "not so soon")
	require.True(t, j.Ended(1, 200*mib, false, at.Add(patience)).Spike)
	j.Nothing(at.Add(patience))
	g := j.Ended(1, 200*mib, true, at.Add(patience+1))
	require.True(t, g.Spike, "what is certain is looked at, within the limits")
	require.Zero(t, g.LeftOut)
	require.False(t, j.Ended(1, 500*mib, true, at.Add(patience+2)).Spike)
	require.Equal(t, 1, j.LeftOut())
}

// Collections between two that are judged are counted, those before the first are not.
func TestMissed(t *testing.T) {
	j := NewJudge(Threshold{Bytes: mib}, time.Hour, 1)
	for _, number := range []uint64{40, 41, 44, 45, 50} {
		j.Ended(number, mib, true, time.Time{})
	}
	require.Equal(t, 2+4, j.Missed())
}

// A spike is not sudden if the collection before it was not calm, or not judged.
func TestSudden(t *testing.T) {
	for _, before := range []uint64{10, 11, 12} {
		j := NewJudge(Threshold{Bytes: 50 * mib}, 0, 10)
		for number := before - Learned; number < before; number++ {
			j.Ended(number, 100*mib, true, time.Time{})
		}
		require.Equal(t, before == 12, j.Ended(12, 200*mib, true, time.Time{}).Sudden)
		require.False(t, j.Ended(13, 300*mib, true, time.Time{}).Sudden, "the same jump")
	}
}
