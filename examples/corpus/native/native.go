//go:build cgo && linux

package native

import "example.com/corpus/internal/judge"

// Group is the cases of the package.
var Group = judge.Group{Name: "native", Cases: []judge.Case{
	{Name: "String", Leak: given(text, false), Fixed: given(text, true), Grows: bytes(48), Culprit: `\+1\.00 native block/op \(\+48 B/op\): 1 x 48\n.*\n.*lost`},
	{Name: "Block", Leak: given(block, false), Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op \(\+1008 B/op\): 1 x 1,008\n.*\n.*lost`, Also: "made by example.com/corpus/native.(C code)\n"},
	{Name: "Bytes", Leak: given(copied, false), Fixed: given(copied, true), Grows: bytes(112), Culprit: `\+1\.00 native block/op \(\+112 B/op\): 1 x 112`},
	{Name: "Large", Leak: given(large, false), Fixed: given(large, true), Grows: bytes(200_704), Culprit: `\+1\.00 native block/op \(\+196\.0 KiB/op\): 1 x 200,704`},
	{Name: "Various", Leak: given(various, false), Fixed: given(various, true), Grows: bytes(2000), Culprit: `native blocks?/op`},
	{Name: "Kept", Leak: keptAll, Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*1 x 1,008, with .*native\.made.*\n(.*\n){0,2} *held by example\.com/corpus/native\.made\[\*\] -> 1\.00 native block/op`},
	{Name: "Statement", Leak: prepared(false), Fixed: prepared(true), Grows: bytes(1200), Culprit: `\+4\.00 native blocks/op .*1 x 1,008.*, with \+[12]\.00 .*native\.statements.*\n(.*\n){0,2} *held by example\.com/corpus/native\.statements\[\*\]\.c -> 4\.00 native blocks/op`},
	{Name: "StatementDropped", Leak: dropped, Fixed: prepared(true), Grows: bytes(1200), Culprit: `\+4\.00 native blocks/op .*1 x 1,008.*\n.*\n.*lost`},
	{Name: "List", Leak: registered(false), Fixed: registered(true), Grows: bytes(112), Culprit: `\+1\.00 native block/op \(\+128 B/op\).*\n.*\n *held by the C variable nodes \(native\.test\) -> 1\.00 native block/op`},
	{Name: "Array", Leak: pushed(false), Fixed: pushed(true), Grows: bytes(4096), Culprit: `native memory, in about as many blocks\n.*\n *held by the C variable array \(native\.test\)`},
	{Name: "Thread", Leak: threaded(1000), Fixed: threaded(0), Grows: bytes(1008).After(10), Calls: 10, Culprit: `\+1\.00 native block/op \(\+1008 B/op\)`},
	{Name: "Map", Leak: pooled(inMap), Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*, with .*\n(.*\n){0,2} *held by example\.com/corpus/native\.pools\.byName\[\*\] -> 1\.00 native block/op`},
	{Name: "Handles", Leak: pooled(inHandles), Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*, with .*\n(.*\n){0,2} *held by example\.com/corpus/native\.pools\.handles\[\*\] -> 1\.00 native block/op`},
	{Name: "Numbers", Leak: pooled(inNumbers), Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*, with .*\n(.*\n){0,2} *held by example\.com/corpus/native\.pools\.numbers\[\*\] -> 1\.00 native block/op`},
	{Name: "Views", Leak: pooled(inViews), Fixed: given(block, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*, with .*\n(.*\n){0,2} *held by example\.com/corpus/native\.pools\.views\[\*\] -> 1\.00 native block/op`},
	{Name: "ThreadLocal", Leak: remembered(false), Fixed: remembered(true), Grows: bytes(112), Culprit: `\+1\.00 native block/op .*\n.*\n *held by a thread: its stack in C code, or a thread-local variable -> 1\.00 native block/op`},
	{Name: "ThreadStack", Leak: asked, Fixed: given(block, true), Grows: bytes(112), Culprit: `\+1\.00 native block/op .*\n.*\n *held by a thread: its stack in C code, or a thread-local variable -> 1\.00 native block/op`},
	{Name: "Aligned", Leak: given(aligned, false), Fixed: given(aligned, true), Grows: bytes(1008), Culprit: `\+1\.00 native block/op .*\n.*\n.*lost`},
	{Name: "Mapped", Leak: mapped(false), Fixed: mapped(true), Grows: judge.Entries(addresses).PerCall(mapSize), Culprit: `\+32\.0 KiB/op: anonymous memory\n.*\n.*not unmapped`, SaysWithRace: "could not tell, and did not judge: +32.0 KiB/op: anonymous memory"},
	{Name: "Threads", Leak: waiters(4096, false), Fixed: waiters(4096, true), Grows: judge.Entries(osThreads).After(8), Calls: 8, Culprit: `\+1\.00 thread/op`},

	{Name: "ThreadsAtTheirLimit", Healthy: waiters(6, false), Grows: judge.Entries(osThreads).After(8), Calls: 8},
	{Name: "Lazily", Healthy: lazily, Grows: bytes(1008).After(400)},
	{Name: "ByTurns", Healthy: byTurns, Grows: bytes(1008)},
	{Name: "CacheFills", Healthy: cache, Grows: bytes(1008).After(400)},
	{Name: "Collected", Healthy: collected, Grows: judge.Objects.After(40)},
	{Name: "ThreadsThatEnd", Healthy: threaded(0), Grows: bytes(1008).After(10), Calls: 10},
	{Name: "Freed", Healthy: given(various, true), Grows: bytes(2000)},
}}

// bytes are malloc's own figure (mallinfo2(3)).
func bytes(perCall float64) judge.Measure { return judge.Entries(inUse).PerCall(perCall) }
