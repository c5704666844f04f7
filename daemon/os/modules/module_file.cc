#include "daemon/os/modules/module_file.h"

#include <elf.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "daemon/os/modules/module_build.h"

namespace seqd {
namespace {

// The linker makes about ten segments, and notes of some hundred bytes.
constexpr std::size_t kMostSegments = 64;
constexpr std::size_t kMostNotes = 4'096;  // bytes of one segment
constexpr std::size_t kMostText = 128;     // of our note

using Header = ElfW(Ehdr);
using Segment = ElfW(Phdr);
using Note = ElfW(Nhdr);

constexpr unsigned char kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
constexpr unsigned char kOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

// Where this program begins: the linker says it.
extern "C" const Header
    __ehdr_start;  // NOLINT(bugprone-reserved-identifier,readability-identifier-naming)

Status bad(const std::string& what) {
  return {ErrorCode::CONFIG, what};
}

struct File {
  int descriptor;
  std::uint64_t size;

  bool holds(std::uint64_t at, std::uint64_t length) const {
    return at <= size && length <= size - at;
  }
  bool read(void* out, std::uint64_t at, std::size_t length) const {
    return holds(at, length) &&
           pread(descriptor, out, length, static_cast<off_t>(at)) == static_cast<ssize_t>(length);
  }
};

bool is_shared_object(const Header& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == kClass &&
         header.e_ident[EI_DATA] == kOrder && header.e_type == ET_DYN &&
         header.e_machine == __ehdr_start.e_machine && header.e_phentsize == sizeof(Segment) &&
         header.e_phnum <= kMostSegments;
}

constexpr std::size_t padded(std::size_t length) {
  return (length + 3) & ~std::size_t{3};
}

// The text of our note among those of one segment; none: it is not there.
std::optional<std::string> find_build(std::string_view notes) {
  while (notes.size() >= sizeof(Note)) {
    Note note{};
    std::memcpy(&note, notes.data(), sizeof note);
    notes.remove_prefix(sizeof note);
    if (note.n_namesz > notes.size() || padded(note.n_namesz) > notes.size()) return {};
    const std::string_view owner = notes.substr(0, note.n_namesz);
    notes.remove_prefix(padded(note.n_namesz));
    if (note.n_descsz > notes.size()) return {};
    const std::string_view text = notes.substr(0, note.n_descsz);
    if (owner == std::string_view(kModuleOwner, sizeof kModuleOwner) && text.size() <= kMostText)
      return std::string(text.substr(0, text.find('\0')));
    notes.remove_prefix(std::min(padded(note.n_descsz), notes.size()));
  }
  return {};
}

}  // namespace

Result<std::string> build_of_module(int descriptor) {
  struct stat facts {};
  if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode)) return bad("is no regular file");
  const File file{descriptor, static_cast<std::uint64_t>(facts.st_size)};
  Header header{};
  if (!file.read(&header, 0, sizeof header) || !is_shared_object(header))
    return bad("is no shared object for this machine");
  std::optional<std::string> build;
  for (std::size_t at = 0; at < header.e_phnum; ++at) {
    Segment segment{};
    const std::uint64_t place = at * sizeof segment;
    if (!file.holds(header.e_phoff, place) ||
        !file.read(&segment, header.e_phoff + place, sizeof segment))
      return bad("is cut short");
    // To touch a page behind the end of a file would end the process.
    if (!file.holds(segment.p_offset, segment.p_filesz)) return bad("is cut short");
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMostNotes) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!file.read(notes.data(), segment.p_offset, notes.size())) return bad("is cut short");
    if (auto found = find_build(notes)) build = std::move(found);
  }
  if (!build) return bad("is no module of seqd");
  return std::move(*build);
}

}  // namespace seqd
