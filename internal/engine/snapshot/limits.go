package snapshot

// SetSystem has limits of memory read below a folder until it is undone. It is for tests.
func SetSystem(root string) (undo func()) {
	system.Root = root
	return func() { system.Root = "" }
}
