package heaptype

import "github.com/leakgate/leakgate/internal/engine/runtime/goruntime"

// offsets are the offsets of fields in the runtime's maps and channels.
type offsets struct {
	mapUsed, MapDirPtr, mapDirLen      uint64
	tableIndex, tableGroups, tableMask uint64
	chanBuf, chanElems, chanUsed       uint64
	chanElemType                       uint64
}

func loadOffsets(m *goruntime.Model) (o offsets, err error) {
	const header, table = "internal/runtime/maps.Map", "internal/runtime/maps.table"
	l := m.Fields()
	o = offsets{
		mapUsed: l.Offset(header, "used"), MapDirPtr: l.Offset(header, "dirPtr"), mapDirLen: l.Offset(header, "dirLen"),
		tableIndex: l.Offset(table, "index"), tableGroups: l.Offset(table, "groups.data"), tableMask: l.Offset(table, "groups.lengthMask"),
		chanBuf: l.Offset("runtime.hchan", "buf"), chanElems: l.Offset("runtime.hchan", "dataqsiz"),
		chanUsed: l.Offset("runtime.hchan", "qcount"), chanElemType: l.Offset("runtime.hchan", "elemtype"),
	}
	return o, l.Err()
}
