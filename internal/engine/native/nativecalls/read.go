package nativecalls

import (
	"encoding/binary"
	"sort"
)

// Lost is how many calls since Start could not be recorded for lack of room.
func (r *Recorder) Lost() int64 { return int64(r.word(ofLost)) }

// Calls is how many calls were recorded since Start.
func (r *Recorder) Calls() int64 { return int64(r.word(ofCalls)) }

// Stacks returns the call stacks since Start whose blocks have not been freed, sorted by ID, which
// has no meaning. It reads all of the tables, 32 MiB, which takes about 20 ms.
func (r *Recorder) Stacks() []Stack {
	type key struct{ stack, kind uint32 }
	found := make(map[key]*Stack)
	stacks, depth, count := r.word(ofStacks), r.word(ofDepth), r.word(ofStacksLen)
	size := stackPCs + 8*depth
	blocks := func(table, n uint64) {
		all := r.bytes(table, n*blockSize)
		for i := range n {
			b := all[i*blockSize : (i+1)*blockSize]
			if binary.NativeEndian.Uint64(b) <= usedAddr {
				continue
			}
			k := key{binary.NativeEndian.Uint32(b[16:]), binary.NativeEndian.Uint32(b[20:])}
			s := found[k]
			if s == nil {
				if uint64(k.stack) >= count || k.kind >= uint32(len(kinds)) {
					continue
				}
				at := r.bytes(stacks+uint64(k.stack)*size, size)
				if binary.NativeEndian.Uint32(at[stackReady:]) == 0 {
					continue // the library is just entering it
				}
				s = &Stack{ID: int(k.stack)*len(kinds) + int(k.kind), Function: kinds[k.kind]}
				c, g := int(binary.NativeEndian.Uint16(at[stackC:])), int(binary.NativeEndian.Uint16(at[stackGo:]))
				pcs := make([]uint64, min(c+g, int(depth)))
				for i := range pcs {
					pcs[i] = binary.NativeEndian.Uint64(at[stackPCs+8*i:])
				}
				s.C, s.Go = pcs[:min(c, len(pcs))], pcs[min(c, len(pcs)):]
				found[k] = s
			}
			s.Blocks++
			s.Bytes += int64(binary.NativeEndian.Uint64(b[8:]))
		}
	}
	blocks(r.word(ofBlocks), r.word(ofBlocksLen))
	blocks(r.word(ofMaps), min(r.word(ofMapsUsed), r.word(ofMapsLen)))
	list := make([]Stack, 0, len(found))
	for _, s := range found {
		list = append(list, *s)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].ID < list[j].ID })
	return list
}
