// Command memory says what is in a core file, for a test to compare with what a debugger says: the
// bytes of all segments, and the package variables.
package main

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"log"
	"os"

	"github.com/leakgate/leakgate/internal/engine/memory/image"
	"github.com/leakgate/leakgate/internal/engine/process/elfimage"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo"
	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// A Segment is a part of memory.
type Segment struct {
	Addr, Size uint64
	Read       uint64 // so much of it can be read, from its start
	Hash       string // SHA-256 of that
}

// A Variable is a package variable with its bytes.
type Variable struct {
	Name, Type string
	Addr       uint64
	Bytes      string
}

func main() {
	exe, err := elfimage.OpenProgram(os.Args[2])
	check(err)
	core, err := elfimage.OpenCore(os.Args[1], exe)
	check(err)
	file, err := objfile.OpenELF(os.Args[2])
	check(err)
	index, err := debuginfo.Open(context.Background(), debuginfo.Options{File: file, NoTwin: true})
	check(err)
	read := func(addr, n uint64) []byte {
		b, err := core.Copy([]image.Range{{Addr: addr, Len: n}})
		check(err)
		return b[0]
	}
	var out struct {
		Segments  []Segment
		Variables []Variable
		Threads   []int
	}
	x, err := elf.Open(os.Args[1])
	check(err)
	for _, p := range x.Progs {
		if p.Type != elf.PT_LOAD {
			continue
		}
		b := read(p.Vaddr, p.Memsz)
		sum := sha256.Sum256(b)
		out.Segments = append(out.Segments, Segment{p.Vaddr, p.Memsz, uint64(len(b)), hex.EncodeToString(sum[:])})
	}
	for _, g := range index.Globals() {
		if g.Type == 0 || g.Size <= 0 || g.Size > 1<<16 {
			continue
		}
		addr := g.Addr + exe.Bias()
		out.Variables = append(out.Variables, Variable{g.Name, index.Type(g.Type).Name, addr, hex.EncodeToString(read(addr, uint64(g.Size)))})
	}
	for _, t := range core.Threads {
		out.Threads = append(out.Threads, t.TID)
	}
	check(json.NewEncoder(os.Stdout).Encode(out))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
