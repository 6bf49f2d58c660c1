package judges_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"runtime/pprof"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/pprofwire"
	"github.com/leakgate/leakgate/internal/testkit/pproftest"
)

// flat is the result of either reader for a profile.
type flat struct {
	types    [][2]string
	first    string
	comments []string
	time     int64
	samples  []sample
}

type sample struct {
	values []int64
	labels map[string][]string
	lines  []line
}

type line struct {
	name, file  string
	line, start int64
	innermost   bool // of its location
}

func ofLibrary(p *profile.Profile) (f flat) {
	f.first, f.comments, f.time = p.DefaultSampleType, p.Comments, p.TimeNanos
	for _, t := range p.SampleType {
		f.types = append(f.types, [2]string{t.Type, t.Unit})
	}
	for _, s := range p.Sample {
		out := sample{values: s.Value, labels: s.Label}
		for _, l := range s.Location {
			for i, at := range l.Line {
				out.lines = append(out.lines, line{at.Function.Name, at.Function.Filename, at.Line, at.Function.StartLine, i == 0})
			}
		}
		f.samples = append(f.samples, out)
	}
	return f
}

func ofOurs(p *pproftest.Profile) (f flat) {
	f.first, f.comments, f.time = p.DefaultSampleType, p.Comments, p.TimeNanos
	for _, t := range p.SampleType {
		f.types = append(f.types, [2]string{t.Type, t.Unit})
	}
	for _, s := range p.Sample {
		out := sample{values: s.Value, labels: s.Label}
		if len(s.Label) == 0 {
			out.labels = nil
		}
		for _, l := range s.Location {
			for i, at := range l.Line {
				out.lines = append(out.lines, line{at.Function.Name, at.Function.Filename, at.Line, at.Function.StartLine, i == 0})
			}
		}
		f.samples = append(f.samples, out)
	}
	return f
}

// TestReadProfile reads profiles of the runtime and of package pprofwire with both readers.
func TestReadProfile(t *testing.T) {
	ours := pprofwire.New(1, []pprofwire.ValueType{{Type: "n", Unit: "count"}}, "n")
	outer := pprofwire.Line{Func: "outer", File: "o.go", Line: 9, StartLine: 7}
	inner := ours.Inlined(pprofwire.Line{Func: "inner", File: "i.go", Line: 3, StartLine: 2}, outer)
	ours.Labelled([]uint64{inner, ours.Location("root", "r.go", 4)}, []pprofwire.Label{{Key: "k", Value: "v"}, {Key: "k", Value: "w"}}, -5)
	ours.Comment("careful")
	for name, write := range map[string]func(io.Writer) error{
		"ours":       ours.Write,
		"goroutines": func(w io.Writer) error { return pprof.Lookup("goroutine").WriteTo(w, 0) },
		"heap":       func(w io.Writer) error { return pprof.Lookup("heap").WriteTo(w, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			var file bytes.Buffer
			require.NoError(t, write(&file))
			want, err := profile.ParseData(file.Bytes())
			require.NoError(t, err)
			got, err := pproftest.Parse(&file)
			require.NoError(t, err)
			require.NotEmpty(t, got.Sample)
			require.Equal(t, ofLibrary(want), ofOurs(got))
		})
	}
}

// TestReadProfileDamaged cuts a profile short at each place: the reader fails where a field is
// cut or a reference leads nowhere.
func TestReadProfileDamaged(t *testing.T) {
	p := pprofwire.New(1, []pprofwire.ValueType{{Type: "n", Unit: "count"}}, "n")
	p.Sample([]uint64{p.Location("f", "f.go", 4)}, 5)
	var file bytes.Buffer
	require.NoError(t, p.Write(&file))
	z, err := gzip.NewReader(&file)
	require.NoError(t, err)
	content, err := io.ReadAll(z)
	require.NoError(t, err)
	for n := 1; n < len(content); n++ {
		var damaged bytes.Buffer
		w := gzip.NewWriter(&damaged)
		_, err := w.Write(content[:n])
		require.NoError(t, err)
		require.NoError(t, w.Close())
		_, err = pproftest.Parse(&damaged)
		require.Error(t, err, "of the first %d bytes", n)
	}
}
