package twin

// extension is the suffix of the file names of programs.
const extension = ".exe"
