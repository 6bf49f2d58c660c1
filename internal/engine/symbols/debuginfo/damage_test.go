package debuginfo

import (
	"bytes"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile/anyfile"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// reread writes an index file and returns the index read back: a written index has to be readable.
func reread(tb testing.TB, p *symindex.Program) *Index {
	tb.Helper()
	var b bytes.Buffer
	require.NoError(tb, symindex.New(p).WriteFile(&b))
	x, err := symindex.ReadFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	require.NoError(tb, err)
	return x
}

func fileOf(b []byte) (*objfile.File, error) { return anyfile.Read(bytes.NewReader(b), int64(len(b))) }

// TestDamagedProgram is a fixed part of FuzzBuild.
func TestDamagedProgram(t *testing.T) { checkDamaged(t) }

// TestDamagedProgramElsewhere is TestDamagedProgram for programs in other formats.
func TestDamagedProgramElsewhere(t *testing.T) {
	require.Slow(t)
	for _, env := range otherSystems() {
		t.Run(strings.Join(env, " "), func(t *testing.T) { checkDamaged(t, env...) })
	}
}

// checkDamaged damages each section of a program and reads it: errors, but no panic.
func checkDamaged(t *testing.T, env ...string) {
	sound, err := os.ReadFile(progtest.Build(t, append(env, "-ldflags=-compressdwarf=false")...))
	require.NoError(t, err)
	whole, err := fileOf(sound)
	require.NoError(t, err)
	rounds := 2
	if progtest.Long() {
		rounds = 40
	}
	r := rand.New(rand.NewPCG(3, 4))
	built := 0
	for range rounds {
		for _, s := range whole.Sections {
			if s.Flags&objfile.ZeroFilled != 0 || s.FileSize == 0 {
				continue
			}
			damaged, err := fileOf(progtest.Damage(r, sound, int(s.Offset), int(s.Offset+s.FileSize)))
			if err != nil {
				continue
			}
			_ = twin.Check(whole, damaged)
			p, err := dwarfread.Read(damaged)
			if err != nil {
				continue
			}
			x := reread(t, p)
			progtest.AskEverything(x)
			x.Free()
			built++
		}
	}
	require.Positive(t, built)
}

// FuzzBuild damages an executable: its headers, and its debug sections, which are not compressed
// here.
func FuzzBuild(f *testing.F) {
	sound, err := os.ReadFile(progtest.Build(f, "-ldflags=-compressdwarf=false"))
	require.NoError(f, err)
	whole, err := fileOf(sound)
	require.NoError(f, err)
	f.Add(uint32(0), []byte{}, false)
	f.Add(uint32(40), []byte{0xff, 0xff, 0xff}, false)
	f.Add(uint32(len(sound)/2), []byte{}, true)
	f.Add(uint32(len(sound)-100), []byte{}, true)
	for _, s := range whole.Sections {
		if s.Flags&objfile.ZeroFilled != 0 || s.FileSize == 0 {
			continue
		}
		f.Add(uint32(s.Offset), bytes.Repeat([]byte{0xff}, 32), false)
		f.Add(uint32(s.Offset+s.Size/2), []byte{0x80, 0x01, 0xff, 0x00, 0x7f}, false)
		f.Add(uint32(s.Offset+s.Size/3), bytes.Repeat([]byte{0}, 200), false)
	}
	f.Fuzz(func(t *testing.T, off uint32, patch []byte, cut bool) {
		b := bytes.Clone(sound)
		if int64(off) < int64(len(b)) {
			copy(b[off:], patch)
			if cut {
				b = b[:off]
			}
		}
		damaged, err := fileOf(b)
		if err != nil {
			return
		}
		_ = twin.Check(whole, damaged)
		_ = twin.Check(damaged, whole)
		p, err := dwarfread.Read(damaged)
		if err != nil {
			return
		}
		x := reread(t, p)
		progtest.AskEverything(x)
		x.Free()
	})
}
