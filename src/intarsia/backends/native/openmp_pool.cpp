// Puts our own `GOMP_parallel` in the place of libgomp's in one loaded library, so that its parallel regions can run on
// the thread pool of the engine that calls it: two pools on the same cores cost a wake-up at each region, or a
// processor to the one that spins.
//
// Only that library's own table of imported functions is changed (its GOT; System V ABI, "Procedure Linkage Table"), so
// that other users of OpenMP in the process keep what they have. Right for regions without barriers, whose code asks for
// no more than its thread's number and their count: the library must import nothing else of libgomp that acts on a team.
#include "openmp_pool.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string>

namespace intarsia {
namespace {

using Region = void (*)(void* data);

struct Lent {
    PoolRun run = nullptr;
    void* pool = nullptr;
};
struct Team {
    int number = 0;
    int count = 0;  // 0: this thread is in no region of ours
};
thread_local Lent t_lent;
thread_local Team t_team;

// libgomp's own functions, for all that happens while no pool is lent.
struct {
    void (*parallel)(Region, void*, unsigned, unsigned) = nullptr;
    int (*number)() = nullptr;
    int (*count)() = nullptr;
} g_libgomp;

struct Call {
    Region region;
    void* data;
    int count;

    static void run(void* self, std::size_t index) {
        const auto& call = *static_cast<const Call*>(self);
        const Team outer = t_team;
        t_team = {static_cast<int>(index), call.count};
        call.region(call.data);
        t_team = outer;
    }
};

void parallel(Region region, void* data, unsigned threads, unsigned flags) {
    if (t_team.count == 0 && t_lent.run == nullptr) {
        g_libgomp.parallel(region, data, threads, flags);
        return;
    }
    // A region inside a region has one thread, as OpenMP's default is.
    Call call{region, data, t_team.count == 0 && threads > 1 ? static_cast<int>(threads) : 1};
    if (call.count == 1) {
        Call::run(&call, 0);
    } else {
        t_lent.run(t_lent.pool, Call::run, static_cast<std::size_t>(call.count), &call);
    }
}

int thread_number() { return t_team.count == 0 ? g_libgomp.number() : t_team.number; }

int thread_count() { return t_team.count == 0 ? g_libgomp.count() : t_team.count; }

struct Replacement {
    const char* name;
    void* ours;
    void** theirs;
};

const std::array<Replacement, 3> kReplacements = {{
    {"GOMP_parallel", reinterpret_cast<void*>(parallel), reinterpret_cast<void**>(&g_libgomp.parallel)},
    {"omp_get_thread_num", reinterpret_cast<void*>(thread_number), reinterpret_cast<void**>(&g_libgomp.number)},
    {"omp_get_num_threads", reinterpret_cast<void*>(thread_count), reinterpret_cast<void**>(&g_libgomp.count)},
}};

// What a library's dynamic section says of its imports.
struct Imports {
    explicit Imports(const dl_phdr_info& info) : base(info.dlpi_addr) {
        for (int index = 0; index < info.dlpi_phnum; ++index) {
            if (info.dlpi_phdr[index].p_type == PT_DYNAMIC) {
                read(reinterpret_cast<const ElfW(Dyn)*>(base + info.dlpi_phdr[index].p_vaddr));
            }
        }
    }

    void read(const ElfW(Dyn)* entry) {
        for (; entry->d_tag != DT_NULL; ++entry) {
            switch (entry->d_tag) {
                case DT_SYMTAB: symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr); break;
                case DT_STRTAB: strings = reinterpret_cast<const char*>(entry->d_un.d_ptr); break;
                case DT_JMPREL: calls = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr); break;
                case DT_PLTRELSZ: calls_bytes = entry->d_un.d_val; break;
                case DT_RELA: others = reinterpret_cast<const ElfW(Rela)*>(entry->d_un.d_ptr); break;
                case DT_RELASZ: others_bytes = entry->d_un.d_val; break;
                default: break;
            }
        }
    }

    template <typename Visit>
    void each(Visit visit) const {
        for (const auto& [table, bytes] : {std::pair{calls, calls_bytes}, std::pair{others, others_bytes}}) {
            for (std::size_t index = 0; index < bytes / sizeof(ElfW(Rela)); ++index) {
                const auto type = ELF64_R_TYPE(table[index].r_info);
                if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
                    const auto& symbol = symbols[ELF64_R_SYM(table[index].r_info)];
                    visit(strings + symbol.st_name, reinterpret_cast<void**>(base + table[index].r_offset));
                }
            }
        }
    }

    ElfW(Addr) base;
    const ElfW(Sym)* symbols = nullptr;
    const char* strings = nullptr;
    const ElfW(Rela)* calls = nullptr;
    std::size_t calls_bytes = 0;
    const ElfW(Rela)* others = nullptr;
    std::size_t others_bytes = 0;
};

void put(void** slot, void* function) {
    const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    auto* start = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(slot) & ~(page - 1));
    // The loader may have made the table read-only after it had filled it.
    if (mprotect(start, page, PROT_READ | PROT_WRITE) == 0) {
        *slot = function;
    }
}

struct Search {
    const char* library;
    int replaced;
};

int visit_library(dl_phdr_info* info, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    if (info->dlpi_name == nullptr || std::strcmp(info->dlpi_name, search.library) != 0) {
        return 0;
    }
    Imports(*info).each([&](const char* name, void** slot) {
        for (const auto& [known, ours, theirs] : kReplacements) {
            if (std::strcmp(name, known) == 0) {
                put(slot, ours);
                search.replaced += *slot == ours ? 1 : 0;
            }
        }
    });
    return 1;
}

}  // namespace

LentPool::LentPool(PoolRun run, void* pool) { t_lent = {run, pool}; }

LentPool::~LentPool() { t_lent = {}; }

}  // namespace intarsia

// Have a library that is loaded from the file `library` run its OpenMP regions on lent pools; `libgomp` is the file of
// the OpenMP library that it uses. How many of its imports were replaced; 0 if that cannot be done.
extern "C" __attribute__((visibility("default"))) int intarsia_share_openmp(const char* library, const char* libgomp) {
    void* const handle = dlopen(libgomp, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) {
        return 0;
    }
    for (const auto& replacement : intarsia::kReplacements) {
        *replacement.theirs = dlsym(handle, replacement.name);
        if (*replacement.theirs == nullptr) {
            return 0;
        }
    }
    intarsia::Search search{library, 0};
    dl_iterate_phdr(intarsia::visit_library, &search);
    return search.replaced;
}
