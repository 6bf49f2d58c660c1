package artifacts

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/verdict"
)

func TestLimitKeepsFailuresFirst(t *testing.T) {
	gather := func() (*Dir, []Record) {
		d, err := Open(t.TempDir())
		require.NoError(t, err)
		for n, v := range map[string]verdict.Verdict{"1": verdict.Pass, "2": verdict.Fail, "3": verdict.Unknown, "4": verdict.Fail} {
			leave(t, d, n, verdict.Result{
				Schema: verdict.Schema, Package: "p", Test: "T", Seq: int(n[0] - '0'), Verdict: v,
				Artifacts: map[string]string{"heap": "heap.pb.gz", "report": "report.json"},
			})
			file := filepath.Join(d.Records(), "p", "T", n, "heap.pb.gz")
			require.NoError(t, os.WriteFile(file, make([]byte, 100), 0o666))
		}
		records, problems := d.Gather("shown", "v0.1.0")
		require.Empty(t, problems)
		return d, records
	}
	kept := func(d *Dir, records []Record) (seqs []int) {
		for _, r := range records {
			if len(r.Result.Artifacts) == 0 {
				files, err := filepath.Glob(filepath.Join(d.Path, r.Dir, "*"))
				require.NoError(t, err)
				require.Len(t, files, 1, "only the record stays")
				continue
			}
			require.FileExists(t, filepath.Join(d.Path, r.Result.Artifacts["heap"]))
			seqs = append(seqs, r.Result.Seq)
		}
		return seqs
	}
	for _, test := range []struct {
		limits Limits
		want   []int
	}{
		{Limits{Assertions: 4, Bytes: 400}, []int{1, 2, 3, 4}},
		{Limits{Assertions: 3, Bytes: 400}, []int{2, 3, 4}},
		{Limits{Assertions: 1, Bytes: 400}, []int{2}},
		{Limits{Assertions: 9, Bytes: 299}, []int{2, 4}},
		{Limits{}, nil},
	} {
		d, records := gather()
		note, err := d.Limit(records, test.limits)
		require.NoError(t, err)
		require.Equal(t, test.want, kept(d, records))
		require.Equal(t, len(test.want) == 4, note == "", note)
	}
}

func TestHeapsKeepWhatTestsAllocate(t *testing.T) {
	const tool = "github.com/leakgate/leakgate/"
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}}}
	functions := make(map[string]*profile.Location)
	sample := func(value int64, stack ...string) {
		s := &profile.Sample{Value: []int64{value}}
		for _, name := range stack {
			if functions[name] == nil {
				f := &profile.Function{ID: uint64(len(functions) + 1), Name: name}
				p.Function = append(p.Function, f)
				l := &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Location = append(p.Location, l)
				functions[name] = l
			}
			s.Location = append(s.Location, functions[name])
		}
		p.Sample = append(p.Sample, s)
	}
	sample(1, "bytes.growSlice", tool+"refscan.Capture", "example.com/app.TestX", "testing.tRunner")
	sample(2, "example.com/app.op", tool+"leakcheck.AssertNoGrowth", "example.com/app.TestX")
	sample(3, "strings.Clone", "example.com/app.keep[github.com/leakgate/leakgate/refscan.Node]", "testing.tRunner")
	sample(4, tool+"internal/engine/heap/live.(*marker).grow", tool+"leakcheck.AssertRetained")
	sample(5, "runtime.doInit1", "runtime.main")
	sample(7, "slices.Grow", "shop.op", tool+"leakcheck.AssertNoGrowth", "shop.TestX")
	sample(6, tool+"leakcheck_test.TestX", tool+"leakcheck.AssertNoGrowth")

	d, err := Open(t.TempDir())
	require.NoError(t, err)
	leave(t, d, "1", verdict.Result{Schema: verdict.Schema, Package: "p", Test: "T", Seq: 1, Verdict: verdict.Fail, Modules: []string{"shop"}, Artifacts: map[string]string{"heap": "heap.pb.gz", "heap.base": "heap.base.pb.gz"}})
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))
	file := filepath.Join(d.Records(), "p", "T", "1", "heap.pb.gz")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "heap.base.pb.gz"), []byte("torn"), 0o666))
	records, problems := d.Gather("shown", "v0.1.0")
	require.Empty(t, problems)
	problems = d.CorrectHeaps(records)
	require.Len(t, problems, 1, "the one that cannot be read")
	require.Contains(t, problems[0], "heap.base.pb.gz is no profile: ")

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	got, err := profile.ParseData(data)
	require.NoError(t, err)
	var values []int64
	for _, s := range got.Sample {
		values = append(values, s.Value[0])
	}
	require.Equal(t, []int64{2, 3, 5, 7, 6}, values)
}

// Samples that the runtime's profiler recorded one by one lose their scaling, and others keep it.
func TestHeapsCountRecordedObjectsOnce(t *testing.T) {
	const rate, size, recorded = 512 << 10, 48, 200
	scale := 1 / (1 - math.Exp(-size/float64(rate)))
	scaled := []int64{int64(recorded * scale), int64(recorded * size * scale), int64(recorded / 2 * scale), int64(recorded / 2 * size * scale)}
	op, batch := &profile.Function{ID: 1, Name: "shop.op"}, &profile.Function{ID: 2, Name: symbol.RecordingBatch}
	at := []*profile.Location{{ID: 1, Line: []profile.Line{{Function: op}}}, {ID: 2, Line: []profile.Line{{Function: batch}}}}
	samples := []*profile.Sample{{Value: slices.Clone(scaled), Location: at}, {Value: slices.Clone(scaled), Location: at[:1]}}
	require.True(t, unscaleRecorded(samples, rate))
	require.Equal(t, []int64{recorded, recorded * size, recorded / 2, recorded / 2 * size}, samples[0].Value)
	require.Equal(t, scaled, samples[1].Value)
	require.False(t, unscaleRecorded(samples[:1], 1))
}
