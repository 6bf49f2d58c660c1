package judges_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/pprofwire"
)

func TestWriteProfile(t *testing.T) {
	p := pprofwire.New(12345, []pprofwire.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}, "inuse_space")
	root, leaf := p.Location("app.x. (*T)", "app/x.go", 7), p.Location("[0]. (é)", "", 0)
	require.Equal(t, root, p.Location("app.x. (*T)", "app/x.go", 7))
	p.Sample([]uint64{root}, 1, 0)
	p.Sample([]uint64{leaf, root}, -3, 1<<40)
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))

	got, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, got.CheckValid())
	require.EqualValues(t, 12345, got.TimeNanos)
	require.Equal(t, "inuse_space", got.DefaultSampleType)
	require.Equal(t, []*profile.ValueType{{Type: "inuse_objects", Unit: "count"}, {Type: "inuse_space", Unit: "bytes"}}, got.SampleType)
	require.Len(t, got.Location, 2)
	require.Len(t, got.Sample, 2)
	require.Equal(t, []int64{1, 0}, got.Sample[0].Value)
	require.Equal(t, []int64{-3, 1 << 40}, got.Sample[1].Value)
	require.Equal(t, "[0]. (é)", got.Sample[1].Location[0].Line[0].Function.Name)
	top := got.Sample[1].Location[1].Line[0]
	require.Equal(t, "app.x. (*T)", top.Function.Name)
	require.Equal(t, "app/x.go", top.Function.Filename)
	require.EqualValues(t, 7, top.Line)
}

func TestWriteProfileFails(t *testing.T) {
	p := pprofwire.New(0, []pprofwire.ValueType{{Type: "n", Unit: "count"}}, "n")
	require.Error(t, p.Write(failing{}))
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteProfileInlined(t *testing.T) {
	p := pprofwire.New(1, []pprofwire.ValueType{{Type: "n", Unit: "count"}}, "n")
	outer := pprofwire.Line{Func: "outer", File: "o.go", Line: 9, StartLine: 7}
	place := p.Inlined(pprofwire.Line{Func: "inner", File: "i.go", Line: 3, StartLine: 2}, outer)
	outer.Line = 10
	again := p.Inlined(outer)
	plain := p.Location("outer", "o.go", 7)
	require.Equal(t, plain, p.Location("outer", "o.go", 7))
	p.Sample([]uint64{again, place, plain}, 5)
	p.Comment("careful")
	p.Comment("very")
	var b bytes.Buffer
	require.NoError(t, p.Write(&b))

	got, err := profile.Parse(&b)
	require.NoError(t, err)
	require.NoError(t, got.CheckValid())
	require.Equal(t, []string{"careful", "very"}, got.Comments)
	require.Len(t, got.Function, 2, "two places in one function")
	require.Len(t, got.Location, 3)
	at := got.Sample[0].Location
	require.Equal(t, "inner", at[1].Line[0].Function.Name)
	require.EqualValues(t, 3, at[1].Line[0].Line)
	require.EqualValues(t, 2, at[1].Line[0].Function.StartLine)
	require.EqualValues(t, 9, at[1].Line[1].Line)
	require.EqualValues(t, 10, at[0].Line[0].Line)
	require.Same(t, at[0].Line[0].Function, at[1].Line[1].Function)
	require.EqualValues(t, 7, at[2].Line[0].Line)
}
