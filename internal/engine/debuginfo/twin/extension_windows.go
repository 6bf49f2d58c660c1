package twin

// extension is at the end of programs' names.
const extension = ".exe"
