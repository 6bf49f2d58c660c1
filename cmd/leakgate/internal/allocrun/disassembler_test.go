package allocrun

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/arch/arm64/arm64asm"
	"golang.org/x/arch/x86/x86asm"

	"github.com/leakgate/leakgate/internal/alloccode"
)

// The code reader agrees with the disassemblers of golang.org/x/arch, in all functions of a large
// program that they know, for both architectures.
func TestAgainstDisassemblers(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		path := filepath.Join(t.TempDir(), "http.test")
		build := exec.Command("go", "test", "-c", "-vet=off", "-o", path, "net/http")
		build.Env = append(os.Environ(), "GOARCH="+arch, "GOOS=linux", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
		out, err := build.CombinedOutput()
		require.NoError(t, err, string(out))
		compareCode(t, path, arch)
	}
}

func compareCode(t *testing.T, path, arch string) {
	t.Helper()
	f, err := elf.Open(path)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	require.NoError(t, err)
	machine, next := alloccode.AMD64(), disassembleAMD64
	if arch == "arm64" {
		machine, next = alloccode.ARM64(), disassembleARM64
	}
	text := f.Section(".text")
	code, err := text.Data()
	require.NoError(t, err)
	functions, instructions, unknown := 0, 0, 0
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Value < text.Addr || s.Value+s.Size > text.Addr+text.Size || s.Size == 0 {
			continue
		}
		body := code[s.Value-text.Addr:][:s.Size]
		functions++
		effects := alloccode.Effects(machine, s.Value, body)
		if effects == nil {
			unknown++
			continue
		}
		at := s.Value
		for _, e := range effects {
			want, ok := next(body[at-s.Value:], at)
			if !ok {
				break // the disassembler does not know it, or there is data in the code
			}
			instructions++
			if want.Length != e.Length || want.Target != e.Target || !e.Leaves && !containsAll(e.Writes, want.Writes) {
				require.Equal(t, want, e, "%s at %#x: %x", s.Name, at, body[at-s.Value:][:min(15, len(body[at-s.Value:]))])
			}
			at += uint64(e.Length)
		}
	}
	t.Logf("%s: %d functions, of which %d are not read, %d instructions", arch, functions, unknown, instructions)
	assert.Greater(t, instructions, 100_000)
	assert.Less(t, unknown*100, functions)
}

func containsAll(list, part []int) bool {
	for _, n := range part {
		if !slices.Contains(list, n) {
			return false
		}
	}
	return true
}

func disassembleAMD64(code []byte, at uint64) (e alloccode.Effect, ok bool) {
	i, err := x86asm.Decode(code, 64)
	if err != nil || slices.Contains([]byte{0xc4, 0xc5, 0x62}, code[0]) { // it does not know AVX
		return e, false
	}
	e.Length = i.Len
	if to, ok := i.Args[0].(x86asm.Rel); ok && i.Op != x86asm.XBEGIN {
		e.Target = uint64(int64(at) + int64(i.Len) + int64(to))
	}
	reads := []x86asm.Op{x86asm.CMP, x86asm.TEST, x86asm.NOP, x86asm.BT, x86asm.PUSH, x86asm.UCOMISD, x86asm.UCOMISS, x86asm.PREFETCHNTA}
	if r, ok := i.Args[0].(x86asm.Reg); ok && !slices.Contains(reads, i.Op) {
		for _, bank := range [][2]x86asm.Reg{{x86asm.AL, x86asm.BL}, {x86asm.AH, x86asm.BH}, {x86asm.AX, x86asm.R15W}, {x86asm.EAX, x86asm.R15L}, {x86asm.RAX, x86asm.R15}} {
			if r >= bank[0] && r <= bank[1] {
				e.Writes = append(e.Writes, int(r-bank[0]))
			}
		}
		if r >= x86asm.SPB && r <= x86asm.R15B {
			e.Writes = append(e.Writes, int(r-x86asm.SPB)+4)
		}
	}
	return e, true
}

func disassembleARM64(code []byte, at uint64) (e alloccode.Effect, ok bool) {
	i, err := arm64asm.Decode(code[:4])
	if err != nil {
		return e, false
	}
	e.Length = 4
	branches := []arm64asm.Op{arm64asm.B, arm64asm.BL, arm64asm.CBZ, arm64asm.CBNZ, arm64asm.TBZ, arm64asm.TBNZ}
	for _, a := range i.Args {
		if to, ok := a.(arm64asm.PCRel); ok && slices.Contains(branches, i.Op) {
			e.Target = uint64(int64(at) + int64(to))
		}
	}
	reads := []arm64asm.Op{
		arm64asm.CMP, arm64asm.CMN, arm64asm.TST, arm64asm.CCMP, arm64asm.CCMN, arm64asm.STR, arm64asm.STRB, arm64asm.STRH, arm64asm.STUR, arm64asm.STURB,
		arm64asm.STURH, arm64asm.STP, arm64asm.MSR, arm64asm.STLR, arm64asm.STLRB,
	}
	if r, ok := i.Args[0].(arm64asm.Reg); ok && !slices.Contains(reads, i.Op) && r <= arm64asm.XZR {
		e.Writes = append(e.Writes, int(r%32))
	}
	return e, true
}
